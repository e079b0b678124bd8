//go:build unix

package notice_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/notice"
	"waggle/internal/test/testenv"
)

// tell has a Notifier tell of one request by channels of a place.
func tell(t *testing.T, who string, cs ...notice.Channel) *notice.Notifier {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	n := notice.Start(notice.Options{Channels: cs, Do: "waggle pending", Now: func() time.Time { now = now.Add(time.Second); return now }})
	t.Cleanup(n.Close)
	n.Waiting(map[string][]notice.Wait{"api": {{ID: "1", Who: who}}})
	return n
}

// wire is a terminal that keeps what is written.
type wire struct{ got chan string }

func (w wire) Write(b []byte) (int, error) {
	w.got <- string(b)
	return len(b), nil
}

// What a member is called cannot reach the terminal as more than text.
func TestTerminal(t *testing.T) {
	const bad = "a\x1b]0;evil\x07\x1b[2J\u009b2J\x1b\\;\nnn"
	text := `waggle: 1 waits in api (a\x1b]0;evil\x07\x1b[2J\x9b2J\x1b\;\nnn: waggle pending)`
	comma := strings.ReplaceAll(text, ";", ",")
	title, body, _ := strings.Cut(strings.TrimSuffix(comma, ")"), " (")
	osc9, osc777 := "\x1b]9;"+comma+"\x1b\\\a", "\x1b]777;notify;"+title+";"+body+"\x1b\\\a"
	for env, want := range map[string]string{
		"TERM=xterm-256color": osc9, "TERM=foot": osc777, "TERM=rxvt-unicode": osc777, "TERM=xterm VTE_VERSION=7600": osc777,
		"TERM=dumb": "\a", "TERM=linux": "\a", "TERM=tmux-256color": "\a", "TERM=xterm STY=1.pts": "\a", "TERM=xterm TMUX=/s,1,0": "\a", "": "\a",
	} {
		w := wire{make(chan string, 1)}
		tell(t, bad, notice.Terminal(notice.Place{Env: strings.Fields(env), Terminal: w}))
		if got := <-w.got; got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
	if notice.Terminal(notice.Place{}).Missing == nil {
		t.Error("a terminal where there is none")
	}
}

// fake makes a program that writes its arguments, a line each, and then runs a script.
func fake(t *testing.T, name, script string) (env []string, said func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	testenv.Must(t, testenv.Executable(filepath.Join(dir, name), []byte("#!/bin/sh\nfor a; do echo \"$a\" >>"+log+"; done\necho . >>"+log+"\n"+script+"\n")))
	return []string{"PATH=" + dir + ":/bin:/usr/bin", "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS=unix:path=/none", "__CFBundleIdentifier=x"}, func() string {
		b, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(b)
	}
}

func TestDesktopLinux(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("notify-send is of Linux")
	}
	env, said := fake(t, "notify-send", "echo 41")
	d := notice.Desktop(notice.Place{Env: env})
	testenv.Must(t, d.Missing)
	n := tell(t, `<b>--ann</b>`, d)
	const first = "--app-name=waggle\n--print-id\n--urgency=normal\n--\nwaggle: 1 waits in api\n&lt;b&gt;--ann&lt;/b&gt;: waggle pending\n.\n"
	testenv.Eventually(t, "a notification", func() bool { return said() == first }, said)
	n.Waiting(nil)
	n.Close()
	if got := strings.TrimPrefix(said(), first); got != "--app-name=waggle\n--print-id\n--urgency=low\n--hint=int:transient:1\n--expire-time=1000\n--replace-id=41\n--\nwaggle: nobody waits in api\n\n.\n" {
		t.Errorf("withdrawn by %q", got)
	}

	// An older one knows no ids.
	env, said = fake(t, "notify-send", `case "$*" in *--print-id*) echo unknown option >&2; exit 1;; esac`)
	if err := notice.Test(t.Context(), notice.Desktop(notice.Place{Env: env})); err != nil || strings.Count(said(), ".\n") != 2 {
		t.Errorf("%v\n%s", err, said())
	}
	env, _ = fake(t, "notify-send", `echo "no bus"; exit 3`)
	if err := notice.Test(t.Context(), notice.Desktop(notice.Place{Env: env})); err == nil || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("a failure is %v", err)
	}
	env, _ = fake(t, "notify-send", `yes | head -c 1000000; exit 3`)
	if err := notice.Test(t.Context(), notice.Desktop(notice.Place{Env: env})); err == nil || len(err.Error()) > 20000 {
		t.Errorf("of much output %.100q… is kept", err)
	}
	for _, without := range []string{"DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "PATH"} {
		var less []string
		for _, kv := range env {
			if !strings.HasPrefix(kv, without+"=") {
				less = append(less, kv)
			}
		}
		if notice.Desktop(notice.Place{Env: less}).Missing == nil {
			t.Errorf("a desktop without %s", without)
		}
	}
}

// A program that hangs is ended with its notice.
func TestDesktopHangs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("notify-send is of Linux")
	}
	env, said := fake(t, "notify-send", "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- notice.Test(ctx, notice.Desktop(notice.Place{Env: env})) }()
	testenv.Eventually(t, "it has begun", func() bool { return said() != "" })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// osascript gets the text as arguments of its script.
func TestDesktopDarwin(t *testing.T) {
	if runtime.GOOS != "darwin" {
		t.Skip("osascript is of macOS")
	}
	env, said := fake(t, "osascript", "")
	testenv.Must(t, notice.Test(t.Context(), notice.Desktop(notice.Place{Env: env})))
	if got := said(); !strings.HasSuffix(got, "end run\nwaggle: a test\nso you learn that somebody waits\n.\n") {
		t.Errorf("%q", got)
	}
}
