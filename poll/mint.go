package poll

import (
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"waggle/record"
)

// Minter makes what machines may not make themselves. Both fields are required and
// used from several goroutines at once, as crypto/rand.Reader can be.
type Minter struct {
	Now  func() time.Time
	Rand io.Reader
}

// Mint returns the time and fresh names.
func (m Minter) Mint() (record.Mint, error) {
	id, err := uuid.NewRandomFromReader(m.Rand)
	if err != nil {
		return record.Mint{}, fmt.Errorf("mint: %w", err)
	}
	nonce, err := m.Nonce()
	if err != nil {
		return record.Mint{}, err
	}
	return record.Mint{Now: m.Now().UTC(), MsgID: id.String(), Nonce: nonce}, nil
}

// Nonce returns seven random base-36 characters.
func (m Minter) Nonce() (string, error) {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	var b, out [7]byte
	for n := 0; n < len(out); {
		if _, err := io.ReadFull(m.Rand, b[:]); err != nil {
			return "", fmt.Errorf("mint: %w", err)
		}
		for _, c := range b { // 252 = 7*36: no digit is likelier
			if c < 252 && n < len(out) {
				out[n] = digits[c%36]
				n++
			}
		}
	}
	return string(out[:]), nil
}

// UID returns 128 random bits in hex: a team uid or an instance.
func (m Minter) UID() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(m.Rand, b[:]); err != nil {
		return "", fmt.Errorf("mint: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}
