// Package orders tests an application with the Go client: it starts a broker, sends an order to it, and stops it.
package orders

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// serve starts a broker with a topic, and returns the address of its name server.
func serve(t *testing.T, topic string) string {
	rocketproof := strings.Fields(os.Getenv("ROCKETPROOF")) // default: the command on the path
	if len(rocketproof) == 0 {
		rocketproof = []string{"rocketproof"}
	}
	options := []string{"serve", "--temporary", "--port", "0", "--nameserver-port", "0", "--topic", topic, "--quiet", "--json"}
	command := exec.Command(rocketproof[0], append(rocketproof[1:], options...)...)
	command.Stderr = os.Stderr
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the broker stops, also if this process is killed
		input.Close()
		command.Wait()
	})
	var ready struct {
		NameServer string `json:"name_server"`
	}
	if err := json.NewDecoder(output).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready.NameServer
}

func TestOrderIsSent(t *testing.T) {
	shop, err := rocketmq.NewProducer(producer.WithNsResolver(primitive.NewPassthroughResolver([]string{serve(t, "orders")})))
	if err != nil {
		t.Fatal(err)
	}
	if err := shop.Start(); err != nil {
		t.Fatal(err)
	}
	defer shop.Shutdown()
	sent, err := shop.SendSync(context.Background(), primitive.NewMessage("orders", []byte("order 1")))
	if err != nil || sent.Status != primitive.SendOK {
		t.Fatal(sent, err)
	}
}
