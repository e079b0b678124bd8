package caught_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"waggle/internal/caught"
)

// none is a panic of the runtime's.
func none(m map[string]int) error {
	m["x"] = 1
	return nil
}

func TestDo(t *testing.T) {
	if err := caught.Do(func() error { return io.EOF }); !errors.Is(err, io.EOF) || caught.Of(err) != nil {
		t.Errorf("an error came back as %v", err)
	}
	if err := caught.Do(func() error { return nil }); err != nil {
		t.Error(err)
	}
	deferred := false
	err := caught.Do(func() error {
		defer func() { deferred = true }()
		return none(nil)
	})
	p := caught.Of(fmt.Errorf("member: %w", err))
	if p == nil || !deferred {
		t.Fatalf("a panic came back as %v; deferred calls ran: %v", err, deferred)
	}
	if !strings.Contains(p.Error(), "it panicked: assignment to entry in nil map") || !strings.Contains(string(p.Stack), "TestDo") {
		t.Errorf("%v\n%s", p, p.Stack)
	}
	if err := caught.Do(func() error { panic(fmt.Errorf("two\nlines: %w", io.EOF)) }); !errors.Is(err, io.EOF) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if err := caught.Do(func() error { panic(any(nil)) }); caught.Of(err) == nil {
		t.Errorf("panic(nil): %v", err)
	}
}
