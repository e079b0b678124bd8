// Backend starts members' processes in a place of its own. They are this program again.
//
//	go run ./backend DIR
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/spawn"
	"waggle/worker"
)

const file = `team: placed
decide: {tool: rules}
policy: {allow: ["Bash(printenv PLACE)"]}
members: [{name: ann, agent: exec, backend: elsewhere}]
tasks: [{subject: "Where am I?", owner: ann, instructions: "printenv PLACE"}]
`

type elsewhere struct{}

func (elsewhere) Name() string { return "elsewhere" }

func (elsewhere) Start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	spec.Env = append(spec.Env, "PLACE=elsewhere")
	fmt.Println("starts", spec.Title)
	return spawn.ProcessBackend().Start(ctx, spec)
}

func main() {
	minter := poll.Minter{Now: time.Now, Rand: rand.Reader}
	if member, ok, err := worker.Invoked(os.Args); ok {
		member.Minter, member.Environ, member.Output = minter, os.Environ(), os.Stdout
		if err == nil {
			err = worker.Join(context.Background(), member)
		}
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	op := operator.At(filepath.Join(os.Args[1], "root"), filepath.Join(os.Args[1], "state"), minter)
	op.Environ, op.Self, op.Backends = os.Environ(), self, []spawn.Backend{elsewhere{}}
	f, err := teamfile.ParseFile(filepath.Join(os.Args[1], "waggle.yaml"), []byte(file), "elsewhere")
	if err != nil {
		log.Fatal(err)
	}
	report, err := supervise.Of(op).Run(context.Background(), f, supervise.RunOptions{Headless: true, Note: func(operator.Note) {}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report.Tasks[0].Subject, " ", report.Tasks[0].OutputTail)
}
