package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"waggle/journal"
	"waggle/journal/journaltest"
)

// contest is a process that tries to decide every key and appends a note after each. It prints
// every append that was acknowledged to it.
type contest struct {
	Path string
	Keys int
	As   string
	Seed uint64
}

func child(args string) int {
	var c contest
	if err := json.Unmarshal([]byte(args), &c); err != nil {
		panic(err)
	}
	if err := c.run(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

func (c contest) run() error {
	rnd := rand.New(rand.NewPCG(c.Seed, 7))
	o := journal.Options{Segment: 8000, Deadline: time.Minute}
	o.Write = func(f *os.File, p []byte) (n int, err error) { // leave time to be killed in
		for n < len(p) && err == nil {
			var m int
			m, err = f.Write(p[n:min(len(p), n+1+rnd.IntN(300))])
			n += m
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond) // real clock: time for another process to kill this one
		}
		return n, err
	}
	o.Sync = func(f *os.File) error { // and before certain.json is written
		err := f.Sync()
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond) // real clock: time for another process to kill this one
		return err
	}
	fold := &journaltest.Decisions{}
	j, err := journal.Dir{Path: c.Path, UID: uid}.Open(journal.Leader, fold, o)
	if err != nil {
		return err
	}
	w := journal.Writer{Instance: c.As, Epoch: 1, PID: os.Getpid()}
	for _, k := range rnd.Perm(c.Keys) {
		recs, err := fold.Decide(j, w, fmt.Sprint(k), c.As)
		if err != nil {
			return err
		}
		if len(recs) > 0 {
			fmt.Println("won", k)
		}
		if recs, err = j.Append(context.Background(), w, func() ([]journal.Draft, error) { return parts(k, 1+rnd.IntN(3)), nil }); err != nil {
			return err
		}
		fmt.Println("noted", recs[0].Seq)
	}
	return nil
}
