package relay_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
)

// A configuration of any size fits into words that the kernel takes, and is not taken
// for the command.
func TestArgs(t *testing.T) {
	c := relay.Config{Door: "/run/waggle/door", Argv: []string{"sh", "-c", "--", "--"}}
	for range 5000 {
		c.Readable = append(c.Readable, "/home/ada/"+strings.Repeat("x", 60))
	}
	args, err := c.Args()
	testenv.Must(t, err)
	end := slices.Index(args, "--")
	if !slices.Equal(args[end+1:], c.Argv) || args[0] != "run" {
		t.Errorf("the command is %q", args[end+1:])
	}
	for _, a := range args {
		if len(a) > 64<<10 {
			t.Errorf("a word has %d bytes", len(a))
		}
	}
}

// A command line that is no call of the relay does nothing.
func TestMainRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"run"}, {"run", "{}"}, {"run", "{}", "--"}, {"run", "x", "--", "true"}, {"connect", "host"}, {"probe"}, {"what"}} {
		var out, errs bytes.Buffer
		if code := relay.Main(args, nil, strings.NewReader(""), &out, &errs); code != relay.CodeFailed || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: %d %q %q", args, code, &out, &errs)
		}
	}
	var errs bytes.Buffer
	if code := relay.Main([]string{"ready"}, nil, nil, nil, &errs); code != 0 {
		t.Errorf("ready: %d %s", code, &errs)
	}
	if code := relay.Main([]string{"connect", "example.com", "443"}, nil, strings.NewReader(""), &bytes.Buffer{}, &errs); code != relay.CodeFailed || !strings.Contains(errs.String(), "no network") {
		t.Errorf("connect: %d %s", code, &errs)
	}
}
