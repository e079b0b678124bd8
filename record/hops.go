package record

import (
	"encoding/json"
	"strconv"

	"waggle/protocol"
)

// keyHops is the key of an envelope that says how many turns in a row, up to the one in which it was written, were begun
// for messages of agents alone and did nothing but answer; absent: 0 (protocol §2.1). It has no authority: who is told
// a high number is not woken by that message, and reads it with the next turn.
const keyHops = "hops"

// MaxHops is the number with which a message begins no turn.
const MaxHops = 12

// Hops reads that number of an envelope. What is no such number counts as 0, and more than MaxHops as that.
func Hops(env protocol.Envelope) int {
	var n int
	if raw, ok := env.Member(keyHops); !ok || json.Unmarshal(raw, &n) != nil {
		return 0
	}
	return max(0, min(n, MaxHops))
}

// WithHops is mail with that number in its envelope.
func (m *Mail) WithHops(n int) (*Mail, error) {
	if n == 0 {
		return m, nil
	}
	env, err := m.Open()
	if err != nil {
		return nil, err
	}
	if env, err = env.With(keyHops, json.RawMessage(strconv.Itoa(n))); err != nil {
		return nil, err
	}
	out := *m
	out.Envelope, err = env.MarshalJSON()
	return &out, err
}
