package poll_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"waggle/boxes"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/record"
)

func TestMint(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.FixedZone("x", 3600))
	m := poll.Minter{Now: func() time.Time { return at }, Rand: rand.NewChaCha8([32]byte{7})}
	seen := map[string]bool{}
	for range 100 {
		mint, err := m.Mint()
		testenv.Must(t, err)
		if !mint.Now.Equal(at) || mint.Now.Location() != time.UTC {
			t.Fatalf("now is %v, want %v in UTC", mint.Now, at)
		}
		if id, err := uuid.Parse(mint.MsgID); err != nil || id.Version() != 4 {
			t.Fatalf("message id %q: %v", mint.MsgID, err)
		}
		if !regexp.MustCompile(`^[0-9a-z]{7}$`).MatchString(mint.Nonce) {
			t.Fatalf("nonce %q", mint.Nonce)
		}
		uid, err := m.UID()
		if err != nil || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(uid) {
			t.Fatalf("uid %q: %v", uid, err)
		}
		for _, s := range []string{mint.MsgID, mint.Nonce, uid} {
			if seen[s] {
				t.Fatalf("%q was made twice", s)
			}
			seen[s] = true
		}
	}
}

// TestNonceIsEven: no digit is likelier than another.
func TestNonceIsEven(t *testing.T) {
	m := poll.Minter{Now: time.Now, Rand: rand.NewChaCha8([32]byte{8})}
	n := map[rune]int{}
	const nonces = 20_000
	for range nonces {
		s, err := m.Nonce()
		testenv.Must(t, err)
		for _, c := range s {
			n[c]++
		}
	}
	if len(n) != 36 {
		t.Errorf("%d digits, want 36", len(n))
	}
	mean := float64(nonces*7) / 36
	for c, k := range n {
		if d := float64(k) / mean; d < 0.93 || d > 1.07 {
			t.Errorf("%q came %d times, about %.0f are expected", c, k, mean)
		}
	}
}

func TestMintWithoutRandomness(t *testing.T) {
	bad := errors.New("no entropy")
	for n := range 24 { // it may end anywhere
		m := poll.Minter{Now: time.Now, Rand: &ending{n, bad}}
		if _, err := m.Mint(); n < 23 && !errors.Is(err, bad) {
			t.Errorf("mint with %d random bytes: %v", n, err)
		}
	}
	if _, err := (poll.Minter{Rand: iotest.ErrReader(bad)}).UID(); !errors.Is(err, bad) {
		t.Errorf("uid: %v", err)
	}
}

// ending gives n bytes and then fails.
type ending struct {
	n   int
	err error
}

func (e *ending) Read(b []byte) (int, error) {
	if e.n == 0 {
		return 0, e.err
	}
	k := min(e.n, len(b))
	e.n -= k
	return k, nil
}

// TestTroubles: a trouble is logged once for as long as it lasts.
func TestTroubles(t *testing.T) {
	var log bytes.Buffer
	tr := poll.Troubles{Log: slog.New(slog.NewTextHandler(&log, nil))}
	bad := errors.New("locked")
	for range 3 {
		tr.Note("a", bad, "not sent", "to", "ann")
	}
	tr.Note("b", bad, "not sent", "to", "bob")
	tr.Note("a", nil, "not sent")
	tr.Note("never", nil, "not sent")
	tr.Note("a", bad, "not sent again", "to", "ann")
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("%d lines, want 3:\n%s", got, log.String())
	}
	for _, want := range []string{`msg="not sent" to=ann err=locked`, `msg="not sent" to=bob err=locked`, `msg="not sent again" to=ann err=locked`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

// TestDirectory: a change of the team's directory is logged and recorded; no change, and no check, is not.
func TestDirectory(t *testing.T) {
	var log bytes.Buffer
	tr := poll.Troubles{Log: slog.New(slog.NewTextHandler(&log, nil))}
	var got []journal.Draft
	put := func(_ context.Context, propose func() ([]journal.Draft, error)) error {
		ds, err := propose()
		got = append(got, ds...)
		return err
	}
	tr.Directory(t.Context(), nil, put)
	tr.Directory(t.Context(), func() *boxes.Change { return nil }, put)
	tr.Directory(t.Context(), func() *boxes.Change { return &boxes.Change{What: boxes.Vanished, Path: "/api"} }, put)
	if len(got) != 1 || got[0].Kind != record.KindNoticed || got[0].Body.(record.Noticed).Path != "/api" || strings.Count(log.String(), "directory is gone") != 1 {
		t.Errorf("recorded %+v, logged %s", got, log.String())
	}
}

// TestTold: the reports of a mailbox are logged.
func TestTold(t *testing.T) {
	var log bytes.Buffer
	poll.LogReports(slog.New(slog.NewTextHandler(&log, nil)))(mailbox.Report{Path: "ann.json", What: "it was broken", Quarantine: "ann.json.corrupt"})
	if want := `level=WARN msg="it was broken" mailbox=ann.json quarantine=ann.json.corrupt`; !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, log.String())
	}
	if poll.LogReports(nil) != nil {
		t.Error("a mailbox is to report to nobody")
	}
}
