package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"waggle/journal"
)

// answers is a fold: the decision about each request.
type answers map[string]string

func (a answers) Apply(r journal.Record) error {
	if r.Kind != "decided" {
		if r.Must {
			return &journal.FutureError{What: "record kind " + r.Kind}
		}
		return nil
	}
	var d struct{ ID, Answer string }
	if err := json.Unmarshal(r.Body, &d); err != nil {
		return err
	}
	a[d.ID] = d.Answer
	return nil
}

// Each request is decided once, whichever process asks.
func Example() {
	path, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(path)
	ctx := context.Background()
	dir := journal.Dir{Path: path, UID: "c0ffee"}
	decide := func(id, answer string) error {
		fold := answers{}
		j, err := dir.Open(journal.Leader, fold, journal.Options{})
		if err != nil {
			return err
		}
		_, err = j.Append(ctx, journal.Writer{Operator: true, PID: os.Getpid()}, func() ([]journal.Draft, error) {
			if was, ok := fold[id]; ok {
				return nil, errors.New("already decided: " + was)
			}
			return []journal.Draft{{Kind: "decided", Must: true, Body: map[string]string{"ID": id, "Answer": answer}}}, nil
		})
		return err
	}
	fmt.Println(decide("req-1", "deny"))
	fmt.Println(decide("req-1", "allow"))
	// Output:
	// <nil>
	// already decided: deny
}
