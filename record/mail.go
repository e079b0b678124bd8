package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"waggle/protocol"
)

// Mint gives a step the time and fresh ids, which it must not make itself.
type Mint struct {
	Now   time.Time
	MsgID string // UUID v4 for the message the step composes
	Nonce string // seven base-36 characters for a request id
}

// Nth is a mint for one more message of the same step: its names are made from
// the first's, so that they are as hard to guess and never the same.
func (m Mint) Nth(n int) Mint {
	sum := sha256.Sum256([]byte(fmt.Sprintf("waggle/mint/1 %s %s %d", m.MsgID, m.Nonce, n)))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // UUID v4
	h := hex.EncodeToString(sum[:16])
	m.MsgID = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	nonce := make([]byte, 7)
	for i := range nonce {
		nonce[i] = digits[int(sum[16+i])%len(digits)]
	}
	m.Nonce = string(nonce)
	return m
}

// ComposeIn encodes a payload as the exact envelope that a record will hold, for a receiver that reads a dialect. Encode
// refuses what its receiver could not decode, because that would never be answered.
func ComposeIn(d protocol.Dialect, from protocol.MemberName, color string, to protocol.MemberName, p protocol.Payload, m Mint) (*Mail, error) {
	env := protocol.Envelope{From: string(from), Timestamp: protocol.FormatTime(m.Now), Color: color, MsgV: 1, MsgID: m.MsgID, Type: "message"}
	env, err := env.Carrying(p, d)
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	env.Text = strings.ToValidUTF8(env.Text, "\uFFFD") // as JSON holds it: the sum is of what is read
	env, err = env.WithMessageID()
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	raw, err := env.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", p.Kind(), err)
	}
	return &Mail{To: to, Kind: p.Kind(), SHA256: HashText(env.Text), Envelope: raw}, nil
}

// ComposeText is ComposeIn for plain words.
func ComposeText(from protocol.MemberName, color string, to protocol.MemberName, text, summary string, m Mint) (*Mail, error) {
	mail, err := ComposeIn(protocol.DialectWire, from, color, to, protocol.Text{Text: text}, m)
	if err != nil {
		return nil, err
	}
	env, err := mail.Open()
	if err != nil {
		return nil, err
	}
	env.Summary = summary
	mail.Envelope, err = env.MarshalJSON()
	return mail, err
}

// Open returns the envelope.
func (m *Mail) Open() (protocol.Envelope, error) { return protocol.ParseEnvelope(m.Envelope) }

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
