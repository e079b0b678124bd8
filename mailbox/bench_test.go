package mailbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
	"waggle/protocol"
)

// internal/bench compares a mailbox with the algorithms of other programs. The benchmarks here
// compare the mailbox's own code paths.
var sizes = []int{10, 1000, 10_000}

// filled returns a mailbox with n read messages of about 300 bytes.
func filled(b *testing.B, n int, o mailbox.Options) *mailbox.Box {
	b.Helper()
	box := openBox(b, b.TempDir(), o)
	var batch []protocol.Envelope
	for i := range n {
		e := mailboxtest.Message(i)
		e.Text = strings.Repeat("words ", 20)
		e.Read = true
		batch = append(batch, e)
	}
	testenv.Must(b, box.Append(b.Context(), batch...))
	return box
}

func BenchmarkAppend(b *testing.B) {
	e := mailboxtest.Message(1)
	e.Text = strings.Repeat("words ", 20)
	for _, n := range sizes {
		for _, tier := range tiers {
			b.Run(fmt.Sprintf("N=%d/%v", n, tier), func(b *testing.B) {
				box := filled(b, n, mailbox.Options{}.With(tier, atomicfile.SyncNone))
				for b.Loop() {
					testenv.Must(b, box.Append(b.Context(), e))
				}
			})
		}
	}
}

// BenchmarkUnread reads one unread message behind n read ones: with nothing new, after another
// process appended it, and in a process that has read nothing before.
func BenchmarkUnread(b *testing.B) {
	for _, n := range sizes {
		prepare := func(b *testing.B) *mailbox.Box {
			box := filled(b, n, mailbox.Options{})
			testenv.Must(b, box.Append(b.Context(), mailboxtest.Message(n)))
			return box
		}
		count := func(b *testing.B, box *mailbox.Box) {
			list, err := box.Unread(b.Context())
			if err != nil || len(list) != 1 {
				b.Fatal(len(list), err)
			}
		}
		b.Run(fmt.Sprintf("N=%d/idle", n), func(b *testing.B) {
			box := prepare(b)
			for b.Loop() {
				count(b, box)
			}
		})
		b.Run(fmt.Sprintf("N=%d/one-new", n), func(b *testing.B) {
			box := prepare(b)
			one := []byte(get(b, box.Path()))
			none, err := os.ReadFile(filled(b, n, mailbox.Options{}).Path())
			testenv.Must(b, err)
			for b.Loop() {
				b.StopTimer()
				testenv.Must(b, os.WriteFile(box.Path(), none, 0o600))
				_, err := box.Unread(b.Context())
				testenv.Must(b, err)
				testenv.Must(b, os.WriteFile(box.Path(), one, 0o600))
				b.StartTimer()
				count(b, box)
			}
		})
		b.Run(fmt.Sprintf("N=%d/cold", n), func(b *testing.B) {
			dir := filepath.Dir(prepare(b).Path())
			for b.Loop() {
				count(b, openBox(b, dir, mailbox.Options{}))
			}
		})
	}
}

// BenchmarkMark marks one message behind n read ones.
func BenchmarkMark(b *testing.B) {
	for _, n := range sizes {
		for _, tier := range tiers {
			b.Run(fmt.Sprintf("N=%d/%v", n, tier), func(b *testing.B) {
				box := filled(b, n, mailbox.Options{}.With(tier, atomicfile.SyncNone))
				testenv.Must(b, box.Append(b.Context(), mailboxtest.Message(n)))
				list, err := box.Unread(b.Context())
				testenv.Must(b, err)
				for b.Loop() {
					testenv.Must(b, box.MarkRead(b.Context(), list[0].ID))
					b.StopTimer()
					unmark(b, box.Path())
					b.StartTimer()
				}
			})
		}
	}
}

// unmark flips the last flag back.
func unmark(b *testing.B, path string) {
	data := get(b, path)
	cut := strings.LastIndex(data, "true")
	testenv.Must(b, os.WriteFile(path, []byte(data[:cut]+"false"+data[cut+4:]), 0o600))
}

func BenchmarkScan(b *testing.B) {
	data := []byte(get(b, filled(b, 10_000, mailbox.Options{}).Path()))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := mailbox.Scan(data); err != nil {
			b.Fatal(err)
		}
	}
}
