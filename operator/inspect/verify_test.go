package inspect_test

import (
	"fmt"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/operator/inspect"
)

// TestVerifyWhileItWorks: a member's record that the leader has seen after the member's journal was read is not missing.
func TestVerifyWhileItWorks(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	c := operatortest.NewCrowd(t, op, "api", 1, 0)
	done := make(chan struct{})
	go func() { // the test waits for it
		defer close(done)
		for i := range 150 {
			c.Asks(0, fmt.Sprint("make ", i))
		}
	}()
	for looks := 0; ; looks++ {
		v, err := inspect.Of(op).Verify(t.Context(), "api")
		if err != nil || !v.OK {
			t.Errorf("look %d: %+v, %v", looks, v, err)
			break
		}
		select {
		case <-done:
			return
		default:
		}
	}
	<-done
}
