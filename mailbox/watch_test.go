package mailbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"waggle/internal/caught"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// long is an interval that no test waits for: every value of the channel is caused by an event.
const long = time.Hour

func watch(t *testing.T, o mailbox.WatchOptions, dirs ...string) (nudges <-chan struct{}, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	nudges, err := mailbox.Watch(ctx, o, dirs...)
	testenv.Must(t, err)
	if cap(nudges) != 1 {
		t.Errorf("%d values wait to be received", cap(nudges))
	}
	return nudges, func() {
		t.Helper()
		cancel()
		for {
			select {
			case _, open := <-nudges:
				if !open {
					return
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the channel was not closed")
			}
		}
	}
}

// watchUntil is watch, and tells how many values wait when the watcher comes to a change of the file last: it has handled
// all changes before.
func watchUntil(t *testing.T, last string, dirs ...string) (nudges <-chan struct{}, pending chan int, stop func()) {
	t.Helper()
	watching, pending := make(chan struct{}), make(chan int, 1)
	nudges, stop = watch(t, mailbox.WatchOptions{Interval: long, Match: func(name string) bool {
		if name == last {
			<-watching
			select {
			case pending <- len(nudges):
			default: // another event of that file
			}
		}
		return mailbox.DefaultMatch(name)
	}}, dirs...)
	close(watching)
	drain(nudges)
	return nudges, pending, stop
}

func await(t *testing.T, nudges <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-nudges:
	case <-time.After(10 * time.Second):
		t.Fatalf("no nudge: %s", what)
	}
}

// drain receives the values that are pending or on their way.
func drain(nudges <-chan struct{}) {
	for {
		select {
		case <-nudges:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

func TestWatchEvents(t *testing.T) {
	defer goleak.VerifyNone(t)
	one, two := t.TempDir(), t.TempDir()
	nudges, stop := watch(t, mailbox.WatchOptions{Interval: long}, one, two)
	defer stop()
	await(t, nudges, "the directories were added")
	b := openBox(t, two, mailbox.Options{})
	for _, tier := range tiers {
		needTier(t, tier)
		b = openBox(t, two, mailbox.Options{}.With(tier, atomicfile.SyncNone))
		for range 3 {
			drain(nudges)
			testenv.Must(t, b.Append(t.Context(), text("x")))
			await(t, nudges, "an append")
		}
	}
	for what, change := range map[string]func() error{
		"mark": func() error { return b.MarkRead(t.Context(), entriesOf(t, b)[0].ID) },
		"in place": func() error {
			return os.WriteFile(filepath.Join(one, "other.json"), []byte("[]"), 0o600)
		},
		"mv": func() error {
			tmp := filepath.Join(t.TempDir(), "x")
			put(t, tmp, "[]")
			return os.Rename(tmp, filepath.Join(one, "moved.json"))
		},
		"lines": func() error { return os.WriteFile(filepath.Join(one, "x.jsonl"), []byte("{}"), 0o600) },
	} {
		drain(nudges)
		testenv.Must(t, change())
		await(t, nudges, what)
	}
}

// TestWatchJournal: the lines of a journal wake a watcher, and the file that is written behind each append
// does not. A mailbox may have that name.
func TestWatchJournal(t *testing.T) {
	defer goleak.VerifyNone(t)
	top := t.TempDir()
	leader, inboxes := filepath.Join(top, "journal", "leader"), filepath.Join(top, "journal", "inboxes")
	testenv.Must(t, os.MkdirAll(leader, 0o700))
	testenv.Must(t, os.MkdirAll(inboxes, 0o700))
	nudges, pending, stop := watchUntil(t, "00000001.jsonl", leader, inboxes)
	defer stop()
	put(t, filepath.Join(leader, "certain.json"), "{}")
	put(t, filepath.Join(leader, "00000001.jsonl"), "{}")
	await(t, nudges, "a line")
	if n := <-pending; n > 0 {
		t.Error("woken by certain.json")
	}
	drain(nudges)
	put(t, filepath.Join(inboxes, "certain.json"), "[]")
	await(t, nudges, "mail")
}

// Lock files and temporary files wake no watcher.
func TestWatchFilters(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "tester.json"), "[]")
	nudges, pending, stop := watchUntil(t, "last.json", dir)
	defer stop()
	release, err := atomicfile.Lock(t.Context(), filepath.Join(dir, "tester.json"), atomicfile.Options{})
	testenv.Must(t, err)
	testenv.Must(t, release())
	put(t, filepath.Join(dir, ".tester.json.0123abcd.tmp"), "[]")
	put(t, filepath.Join(dir, "tester.json.corrupt-1"), "[]")
	put(t, filepath.Join(dir, ".tester.json"), "[]")
	testenv.Must(t, os.Chmod(filepath.Join(dir, "tester.json"), 0o640))
	put(t, filepath.Join(dir, "last.json"), "[]")
	await(t, nudges, "mail")
	if n := <-pending; n > 0 {
		t.Error("woken by what is not mail")
	}
	only, stop2 := watch(t, mailbox.WatchOptions{Interval: long, Match: func(n string) bool { return n == "me.json" }}, dir)
	defer stop2()
	drain(only)
	put(t, filepath.Join(dir, "tester.json"), "[ ]")
	await(t, nudges, "the one that matches everything")
	put(t, filepath.Join(dir, "me.json"), "[]")
	await(t, only, "the one that matches")
}

func TestWatchClockAndLateDirectories(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := filepath.Join(t.TempDir(), "late")
	nudges, stop := watch(t, mailbox.WatchOptions{Interval: 5 * time.Millisecond}, dir)
	defer stop()
	for range 5 {
		await(t, nudges, "the clock")
	}
	const interval = 500 * time.Millisecond
	slow, stop2 := watch(t, mailbox.WatchOptions{Interval: interval}, dir)
	defer stop2()
	// The directory is found at a tick; events from it arrive well before the next tick.
	for _, what := range []string{"new", "replaced"} {
		testenv.Must(t, os.MkdirAll(dir, 0o700))
		await(t, slow, "the clock")
		await(t, slow, "the clock again")
		drain(slow)
		start := time.Now()
		put(t, filepath.Join(dir, "x.json"), "[]")
		await(t, slow, "an event in the directory")
		t.Logf("%s directory: nudged %v after the change, the clock ticks every %v", what, time.Since(start), interval)
		testenv.Must(t, os.Rename(dir, dir+"-"+what))
	}
}

// Many changes without a receiver are one value.
func TestWatchCoalesces(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	matched, handled := 0, make(chan int, 1)
	nudges, stop := watch(t, mailbox.WatchOptions{Interval: long, Match: func(name string) bool {
		if name == "last" { // the watcher has handled all events before
			select {
			case handled <- matched:
			default: // another event of that file
			}
			return false
		}
		matched++
		return true
	}}, dir)
	defer stop()
	b := openBox(t, dir, mailbox.Options{})
	for range 100 {
		testenv.Must(t, b.Append(t.Context(), text("x")))
	}
	put(t, filepath.Join(dir, "last"), "")
	n := <-handled
	await(t, nudges, "the appends")
	if n < 100 || len(nudges) > 0 {
		t.Errorf("%d values are left after the first, for %d events of 100 appends", len(nudges), n)
	}
}

// TestWatchFalls: a panic in a watch ends it and is reported.
func TestWatchFalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fell := make(chan error, 1)
	nudges, err := mailbox.Watch(t.Context(), mailbox.WatchOptions{Interval: time.Hour, Match: func(string) bool { panic("no such luck") },
		Fell: func(err error) { fell <- err }}, dir)
	testenv.Must(t, err)
	put(t, filepath.Join(dir, "ann.json"), "[]")
	select {
	case err := <-fell:
		if p := caught.Of(err); p == nil || p.Value != "no such luck" {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Skip("this system has no file events")
	}
	for range nudges { // until it is closed
	}
}
