// Judges append registers with porcupine: each queue is a register whose append answers how many came before it.
//
// Reads one operation a line from standard input: client, queue, time of the call, time of the return, answered offset.
// Writes one JSON object: the verdict, the seconds of the judgement alone, and the peak of memory in bytes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

type appended struct{ queue string }

var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		queues := map[string][]porcupine.Operation{}
		for _, operation := range history {
			queue := operation.Input.(appended).queue
			queues[queue] = append(queues[queue], operation)
		}
		parts := make([][]porcupine.Operation, 0, len(queues))
		for _, part := range queues {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() interface{} { return int64(0) },
	Step: func(state, _, output interface{}) (bool, interface{}) {
		return output.(int64) == state.(int64), state.(int64) + 1
	},
}

func main() {
	var operations []porcupine.Operation
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var client int
		var queue string
		var called, returned, offset int64
		if _, err := fmt.Sscan(lines.Text(), &client, &queue, &called, &returned, &offset); err != nil {
			fmt.Fprintln(os.Stderr, "no operation:", lines.Text(), err)
			os.Exit(2)
		}
		operations = append(operations, porcupine.Operation{
			ClientId: client, Input: appended{queue}, Call: called, Output: offset, Return: returned,
		})
	}
	begun := time.Now()
	ok := porcupine.CheckOperations(register, operations)
	seconds := time.Since(begun).Seconds()
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	_ = json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"ok": ok, "operations": len(operations), "wall_seconds": seconds, "cpu_seconds": cpu, "peak_rss_bytes": usage.Maxrss * 1024,
	})
}
