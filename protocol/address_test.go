package protocol_test

import (
	"strings"
	"testing"
	"unicode"

	"waggle/protocol"
)

func TestParseAddress(t *testing.T) {
	member := func(m protocol.MemberName, team protocol.TeamName) protocol.Address {
		return protocol.Address{Scheme: protocol.SchemeMember, Member: m, Team: team}
	}
	target := func(s protocol.Scheme, target string) protocol.Address {
		return protocol.Address{Scheme: s, Target: target}
	}
	for _, tc := range []struct {
		in        string
		want      protocol.Address
		canonical string
	}{
		{"w1", member("w1", ""), "w1"},
		{"@w1", member("w1", ""), "w1"},
		{"w1@ours", member("w1", "ours"), "w1@ours"},
		{"lead", member("team-lead", ""), "team-lead"},
		{"@lead", member("team-lead", ""), "team-lead"},
		{"lead@ours", member("team-lead", "ours"), "team-lead@ours"},
		{"team-lead", member("team-lead", ""), "team-lead"},
		{"*", protocol.Address{Scheme: protocol.SchemeBroadcast}, "*"},
		{"uds:/run/a.sock", target(protocol.SchemeUDS, "/run/a.sock"), "uds:/run/a.sock"},
		{"uds:///run/a.sock", target(protocol.SchemeUDS, "/run/a.sock"), "uds:/run/a.sock"},
		{"uds:a.sock", target(protocol.SchemeUDS, "a.sock"), "uds:a.sock"},
		{"uds:./a b:c", target(protocol.SchemeUDS, "./a b:c"), "uds:./a b:c"},
		{"/run/a.sock", target(protocol.SchemeUDS, "/run/a.sock"), "uds:/run/a.sock"},
		{"//run/a.sock", target(protocol.SchemeUDS, "/run/a.sock"), "uds:/run/a.sock"},
		{"bridge:session-1", target(protocol.SchemeBridge, "session-1"), "bridge:session-1"},
		{"bridge://session-1", target(protocol.SchemeBridge, "session-1"), "bridge:session-1"},
		{"http://h:8080/p?q=1", target(protocol.SchemeHTTP, "http://h:8080/p?q=1"), "http://h:8080/p?q=1"},
		{"HTTPS://h", target(protocol.SchemeHTTP, "https://h"), "https://h"},
		{"https://[::1]:9/", target(protocol.SchemeHTTP, "https://[::1]:9/"), "https://[::1]:9/"},
	} {
		got, err := protocol.ParseAddress(tc.in)
		if err != nil || got != tc.want || got.String() != tc.canonical {
			t.Errorf("%q: %+v %q %v, want %+v %q", tc.in, got, got.String(), err, tc.want, tc.canonical)
		}
		again, err := protocol.ParseAddress(got.String())
		if err != nil || again != got {
			t.Errorf("%q: its canonical form is read as %+v, %v", tc.in, again, err)
		}
	}
}

func TestParseAddressErrors(t *testing.T) {
	for _, tc := range []struct{ in, why string }{
		{"", "is empty"},
		{" w1", "may hold only"},
		{"a b", "may hold only"},
		{"@", "is empty"},
		{"w1@", "is empty"},
		{"@w1@ours", "may hold only"},
		{"w1@a@b", "may hold only"},
		{"user", "reserved"},
		{"42", "digits only"},
		{"**", "may hold only"},
		{"*@ours", "may hold only"},
		{`C:\pipe`, "drive letter"},
		{"c:/x", "drive letter"},
		{`\\.\pipe\x`, "Windows path"},
		{"did:key:z", `scheme "did:" is not known; use a member's name`},
		{"ftp://h", `scheme "ftp:" is not known`},
		{"w1:x", `scheme "w1:" is not known`},
		{"uds:", "needs a path"},
		{"uds://host/p", "names a host"},
		{"uds:/", "root directory"},
		{"/", "root directory"},
		{"bridge:", "needs an id"},
		{"bridge://", "needs an id"},
		{"bridge:a/b", "needs an id"},
		{"http:", "URL with a host"},
		{"http://", "URL with a host"},
		{"http://:80/", "URL with a host"},
		{"http:/x", "URL with a host"},
		{"http://u:p@h/", "user name"},
		{"w1\n", "control characters"},
		{"uds:/a\x00b", "control characters"},
		{"\xff", "broken UTF-8"},
	} {
		got, err := protocol.ParseAddress(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%q: %+v, %v, want %q", tc.in, got, err, tc.why)
			continue
		}
		if got != (protocol.Address{}) || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q: %+v, %q", tc.in, got, err)
		}
	}
	if s := (protocol.Address{}).String(); s != "" {
		t.Errorf("the zero address is %q", s)
	}
}

// FuzzAddress: an address that parses also parses from its canonical spelling, to the same Address.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"w1", "w1@ours", "@lead", "*", "uds:///p", "//p", "bridge://x", "http://h/p", "C:\\x", "uds:////p", "HTTP:h", strings.Repeat("a", 300) + ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := protocol.ParseAddress(s)
		if err != nil {
			if msg := err.Error(); len(msg) > 400 || strings.ContainsFunc(msg, unicode.IsControl) {
				t.Fatalf("%q", msg)
			}
			return
		}
		again, err := protocol.ParseAddress(a.String())
		if err != nil || again != a {
			t.Fatalf("%q: %+v, then %+v, %v", s, a, again, err)
		}
	})
}
