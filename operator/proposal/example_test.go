package proposal_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"time"

	"waggle/operator/proposal"
)

func Example() {
	state, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(state) }()
	store := proposal.At(state, func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) })
	p, err := store.Put(context.Background(), proposal.Proposal{Dir: "/src", Asked: proposal.Asked{Agent: "claude", Task: "fix the flaky test"}}, rand.New(rand.NewSource(1)))
	fmt.Println(len(p.Handle()), p.Line(), p.State, err)
	// Output: 4 new claude "fix the flaky test" open <nil>
}
