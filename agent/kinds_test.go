package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"waggle/agent"
)

type own struct{ agent.Agent }

func (own) Turn(context.Context, agent.Host, agent.Work) (agent.Result, error) {
	return agent.Result{Summary: "own"}, nil
}

// TestRegister: a kind of this program's own is made like any other, from its settings.
func TestRegister(t *testing.T) {
	if _, err := agent.New("own", nil); err == nil {
		t.Fatal("a kind that nobody registered")
	}
	bad := errors.New("no such setting")
	agent.Register("own", func(spec json.RawMessage) (agent.Agent, error) {
		if string(spec) != `{"a":1}` {
			return nil, bad
		}
		return own{}, nil
	})
	a, err := agent.New("own", json.RawMessage(`{"a":1}`))
	if _, ok := a.(own); !ok || err != nil {
		t.Errorf("%T, %v", a, err)
	}
	if _, err := agent.New("own", nil); !errors.Is(err, bad) {
		t.Errorf("bad settings: %v", err)
	}
	if kinds := agent.Kinds(); !slices.Equal(kinds, []string{"exec", "own", "script"}) {
		t.Errorf("kinds: %q", kinds)
	}
	for _, kind := range []string{"own", "exec", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered twice", kind)
				}
			}()
			agent.Register(kind, func(json.RawMessage) (agent.Agent, error) { return own{}, nil })
		}()
	}
}
