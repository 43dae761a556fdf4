// Sends what the first argument's brokers are to take: synchronously, asynchronously, one way, in a batch. One line of JSON for each step.
// With a topic, a number of messages and milliseconds behind it, it sends so many messages for each line that it reads, as Producer.java does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const topic = "GoTopic"

// A report of one step; without what differs from run to run.
type report struct {
	Step   string      `json:"step"`
	Result interface{} `json:"result,omitempty"`
	Error  string      `json:"error,omitempty"`
}

type sent struct {
	Status      primitive.SendStatus `json:"status"`
	Broker      string               `json:"broker"`
	QueueId     int                  `json:"queueId"`
	QueueOffset int64                `json:"queueOffset"`
	OffsetMsgId string               `json:"offsetMsgId"`
	Region      string               `json:"region"`
}

func told(result *primitive.SendResult) sent {
	queue := result.MessageQueue
	return sent{result.Status, queue.BrokerName, queue.QueueId, result.QueueOffset, result.OffsetMsgID, result.RegionID}
}

func step(name string, do func() (interface{}, error)) {
	line := report{Step: name}
	result, problem := do()
	if problem != nil {
		line.Error = problem.Error()
	} else {
		line.Result = result
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func message(body string) *primitive.Message {
	made := primitive.NewMessage(topic, []byte(body))
	made.WithTag("TagGo").WithKeys([]string{"key-" + body})
	return made
}

// For each line of the input so many messages, one after the other; how each ended, and "end" behind the last one.
func sendLines(topic string, times int, millis int) error {
	client, problem := rocketmq.NewProducer(
		producer.WithNameServer([]string{os.Args[1]}),
		producer.WithGroupName("producers"),
		producer.WithSendMsgTimeout(time.Duration(millis)*time.Millisecond),
		producer.WithRetry(2),
	)
	if problem == nil {
		problem = client.Start()
	}
	if problem != nil {
		return problem
	}
	asked := bufio.NewScanner(os.Stdin)
	for asked.Scan() {
		for number := 0; number < times; number++ {
			body := fmt.Sprintf("%s %d", asked.Text(), number)
			result, problem := client.SendSync(context.Background(), primitive.NewMessage(topic, []byte(body)))
			if problem != nil {
				fmt.Println(">", strings.ReplaceAll(problem.Error(), "\n", " "))
			} else {
				queue := result.MessageQueue
				fmt.Println("> SEND_OK", queue.BrokerName, queue.QueueId, result.QueueOffset)
			}
		}
		fmt.Println("end")
	}
	return client.Shutdown()
}

func main() {
	rlog.SetLogLevel("fatal")
	if len(os.Args) > 4 {
		times, _ := strconv.Atoi(os.Args[3])
		millis, _ := strconv.Atoi(os.Args[4])
		if problem := sendLines(os.Args[2], times, millis); problem != nil {
			fmt.Fprintln(os.Stderr, problem)
			os.Exit(1)
		}
		return
	}
	// Messages of one run go to the queue that they name.
	client, problem := rocketmq.NewProducer(
		producer.WithNameServer([]string{os.Args[1]}),
		producer.WithGroupName("GoProducers"),
		producer.WithQueueSelector(producer.NewRoundRobinQueueSelector()),
	)
	if problem == nil {
		problem = client.Start()
	}
	if problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
	limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	step("sync", func() (interface{}, error) {
		var all []sent
		for number := 0; number < 8; number++ {
			result, problem := client.SendSync(limited, message(fmt.Sprintf("sync-%d", number)))
			if problem != nil {
				return nil, problem
			}
			all = append(all, told(result))
		}
		return all, nil
	})
	step("async", func() (interface{}, error) {
		var lock sync.Mutex
		var all []sent
		var first error
		var left sync.WaitGroup
		for number := 0; number < 8; number++ {
			left.Add(1)
			problem := client.SendAsync(limited, func(_ context.Context, result *primitive.SendResult, problem error) {
				defer left.Done()
				lock.Lock()
				defer lock.Unlock()
				if problem != nil {
					first = problem
				} else {
					all = append(all, told(result))
				}
			}, message(fmt.Sprintf("async-%d", number)))
			if problem != nil {
				return nil, problem
			}
		}
		left.Wait()
		return all, first
	})
	step("one-way", func() (interface{}, error) {
		for number := 0; number < 8; number++ {
			if problem := client.SendOneWay(limited, message(fmt.Sprintf("oneway-%d", number))); problem != nil {
				return nil, problem
			}
		}
		return 8, nil
	})
	step("batch", func() (interface{}, error) {
		result, problem := client.SendSync(limited, message("batch-0"), message("batch-1"), message("batch-2"))
		if problem != nil {
			return nil, problem
		}
		return told(result), nil
	})
	step("delayed", func() (interface{}, error) {
		delayed := message("delayed")
		delayed.WithDelayTimeLevel(1)
		result, problem := client.SendSync(limited, delayed)
		if problem != nil {
			return nil, problem
		}
		return told(result), nil
	})
	if problem := client.Shutdown(); problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
}
