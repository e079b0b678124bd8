package record_test

import (
	"regexp"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/record"
)

var mint = record.Mint{Now: start, MsgID: "8a0f2d6c-1111-4222-8333-444455556666", Nonce: "abc1234"}

// TestCompose: a mail holds the envelope that is sent, byte for byte, and the sum of its text.
func TestCompose(t *testing.T) {
	p := protocol.ShutdownRequest{From: "team-lead", RequestID: "shutdown-abc1234@ada", Reason: "done", Timestamp: protocol.FormatTime(start)}
	mail, err := record.ComposeIn(protocol.DialectWire, "team-lead", "blue", "ada", p, mint)
	testenv.Must(t, err)
	env, err := mail.Open()
	testenv.Must(t, err)
	if mail.To != "ada" || mail.Kind != protocol.KindShutdownRequest || mail.SHA256 != record.HashText(env.Text) {
		t.Errorf("%+v", mail)
	}
	if env.From != "team-lead" || env.Color != "blue" || env.MsgV != 1 || env.MsgID != mint.MsgID || env.Type != "message" || env.Timestamp != protocol.FormatTime(start) {
		t.Errorf("%+v", env)
	}
	if id, ok := env.Member("messageId"); !ok || string(id) != `"`+mint.MsgID+`"` {
		t.Errorf("messageId is not the id in %s", mail.Envelope)
	}
	if d := protocol.Decode(env); d.Kind != protocol.KindShutdownRequest || len(d.Warnings) > 0 {
		t.Errorf("it is read as %s, %q", d.Kind, d.Warnings)
	}
	again, err := record.ComposeIn(protocol.DialectWire, "team-lead", "blue", "ada", p, mint)
	if err != nil || string(again.Envelope) != string(mail.Envelope) {
		t.Errorf("composed again it is %s, %v", again.Envelope, err)
	}
	if _, err := (&record.Mail{Envelope: []byte("[]")}).Open(); err == nil {
		t.Error("a list is an envelope")
	}
}

// TestComposeRefuses: Compose refuses a payload that its receiver could not decode, and the error names
// the kind.
func TestComposeRefuses(t *testing.T) {
	for _, p := range []protocol.Payload{protocol.ShutdownRequest{}, protocol.PermissionRequest{}} {
		mail, err := record.ComposeIn(protocol.DialectWire, "team-lead", "", "ada", p, mint)
		if mail != nil || err == nil || !strings.HasPrefix(err.Error(), "compose "+string(p.Kind())+": ") {
			t.Errorf("%+v: %v, %v", p, mail, err)
		}
	}
}

// TestComposeText: words have their summary beside them, and are the sum's text.
func TestComposeText(t *testing.T) {
	mail, err := record.ComposeText("ada", "", "team-lead", "two words", "2", mint)
	testenv.Must(t, err)
	env, err := mail.Open()
	if err != nil || env.Text != "two words" || env.Summary != "2" || mail.SHA256 != record.HashText("two words") || mail.Kind != protocol.KindText || env.MsgID != mint.MsgID {
		t.Errorf("%+v, %+v, %v", mail, env, err)
	}
	// printf 'two words' | sha256sum
	if want := "a03f1d61"; !strings.HasPrefix(mail.SHA256, want) || len(mail.SHA256) != 64 {
		t.Errorf("the sum is %s", mail.SHA256)
	}
	if _, err := record.ComposeText("ada", "", "team-lead", strings.Repeat("x", protocol.MaxText+1), "", mint); err == nil {
		t.Error("a text beyond the limit is composed")
	}
}

// TestComposeInvalidText: bytes that are no UTF-8 are replaced before the sum is taken: the record
// vouches for the text that its receiver reads.
func TestComposeInvalidText(t *testing.T) {
	mail, err := record.ComposeText("ada", "", "team-lead", "a\xff\xffb\xc3", "", mint)
	testenv.Must(t, err)
	env, err := mail.Open()
	if err != nil || !strings.HasPrefix(env.Text, "a\uFFFD") || mail.SHA256 != record.HashText(env.Text) {
		t.Errorf("%q has the sum %s, %v", env.Text, mail.SHA256, err)
	}
}

// TestNth: the names of further messages are UUIDs and nonces of their own, the same again for the
// same step, and others for another.
func TestNth(t *testing.T) {
	uuid, nonce := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), regexp.MustCompile(`^[0-9a-z]{7}$`)
	ids, nonces, digits := map[string]bool{mint.MsgID: true}, map[string]bool{mint.Nonce: true}, map[rune]bool{}
	other := mint
	other.Nonce = "abc1235"
	third := mint
	third.MsgID = strings.Replace(mint.MsgID, "8", "9", 1)
	for n := range 100 {
		for _, m := range []record.Mint{mint, other, third} {
			got := m.Nth(n)
			if !uuid.MatchString(got.MsgID) || !nonce.MatchString(got.Nonce) || !got.Now.Equal(start) {
				t.Fatalf("%+v", got)
			}
			if ids[got.MsgID] || nonces[got.Nonce] {
				t.Fatalf("%+v was given before", got)
			}
			ids[got.MsgID], nonces[got.Nonce] = true, true
			if got != m.Nth(n) {
				t.Fatal("the same message has two names")
			}
			for _, c := range got.Nonce {
				digits[c] = true
			}
		}
	}
	if len(digits) != 36 {
		t.Errorf("nonces have %d digits", len(digits))
	}
	// A second reading, in another language: the sum's first 16 bytes, and a digit for each of the
	// seven after them.
	want := []record.Mint{{MsgID: "3d210a63-75cf-4d5d-8778-a532ab3751ab", Nonce: "p3rhpcf"}, {MsgID: "bebe039f-062a-4b68-8155-57c02a8ebe60", Nonce: "gu967gd"},
		{MsgID: "aab6b40e-22f0-4353-ade7-de09bed22a7a", Nonce: "vpq011w"}, {MsgID: "806b7b6e-81a1-4d0b-9c5f-342871018730", Nonce: "4we3r86"}}
	for n, want := range want {
		if got := (record.Mint{MsgID: "m", Nonce: "n"}).Nth(n); got != want {
			t.Errorf("%d: %+v, want %+v", n, got, want)
		}
	}
}
