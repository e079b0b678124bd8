package mailbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
)

var sizes = []int{10, 1000, 10_000}

// filled returns a mailbox with n read messages of about 300 bytes.
func filled(b *testing.B, n int, o mailbox.Options) *mailbox.Box {
	b.Helper()
	box := openBox(b, b.TempDir(), o)
	var batch []waggle.Envelope
	for i := range n {
		e := mailboxtest.Message(i)
		e.Text = strings.Repeat("words ", 20)
		e.Read = true
		batch = append(batch, e)
	}
	must(b, box.Append(b.Context(), batch...))
	return box
}

// naive is what the peers do: lock, read, parse, change, write all, rename.
func naive(path string, change func(list []map[string]any) []map[string]any) error {
	for os.Mkdir(path+".lock", 0o777) != nil {
		time.Sleep(5 * time.Millisecond)
	}
	defer os.Remove(path + ".lock")
	list, err := naiveRead(path)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(change(list)); err != nil {
		return err
	}
	tmp := path + ".tmp.01234567"
	if err := os.WriteFile(tmp, buf.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func naiveRead(path string) (list []map[string]any, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func naiveUnread(path string) (n int, err error) {
	list, err := naiveRead(path)
	for _, e := range list {
		if e["read"] != true {
			n++
		}
	}
	return n, err
}

func BenchmarkAppend(b *testing.B) {
	e := mailboxtest.Message(1)
	e.Text = strings.Repeat("words ", 20)
	var m map[string]any
	must(b, json.Unmarshal(e.AppendJSON(nil), &m))
	for _, n := range sizes {
		for _, tier := range tiers {
			b.Run(fmt.Sprintf("N=%d/%v", n, tier), func(b *testing.B) {
				box := filled(b, n, mailbox.Options{File: atomicfile.Options{Tier: tier}})
				for b.Loop() {
					must(b, box.Append(b.Context(), e))
				}
			})
		}
		b.Run(fmt.Sprintf("N=%d/naive", n), func(b *testing.B) {
			box := filled(b, n, mailbox.Options{})
			for b.Loop() {
				must(b, naive(box.Path(), func(list []map[string]any) []map[string]any { return append(list, m) }))
			}
		})
	}
}

// BenchmarkUnread reads one unread message behind n read ones: with nothing new,
// after another process appended it, and in a process that knows nothing yet.
func BenchmarkUnread(b *testing.B) {
	for _, n := range sizes {
		prepare := func(b *testing.B) *mailbox.Box {
			box := filled(b, n, mailbox.Options{})
			must(b, box.Append(b.Context(), mailboxtest.Message(n)))
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
			must(b, err)
			for b.Loop() {
				b.StopTimer()
				must(b, os.WriteFile(box.Path(), none, 0o600))
				_, err := box.Unread(b.Context())
				must(b, err)
				must(b, os.WriteFile(box.Path(), one, 0o600))
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
		b.Run(fmt.Sprintf("N=%d/naive", n), func(b *testing.B) {
			path := prepare(b).Path()
			for b.Loop() {
				if k, err := naiveUnread(path); err != nil || k != 1 {
					b.Fatal(k, err)
				}
			}
		})
	}
}

// BenchmarkMark marks one message behind n read ones.
func BenchmarkMark(b *testing.B) {
	for _, n := range sizes {
		for _, tier := range tiers {
			b.Run(fmt.Sprintf("N=%d/%v", n, tier), func(b *testing.B) {
				box := filled(b, n, mailbox.Options{File: atomicfile.Options{Tier: tier}})
				must(b, box.Append(b.Context(), mailboxtest.Message(n)))
				list, err := box.Unread(b.Context())
				must(b, err)
				for b.Loop() {
					must(b, box.MarkRead(b.Context(), list[0].ID))
					b.StopTimer()
					unmark(b, box.Path())
					b.StartTimer()
				}
			})
		}
		b.Run(fmt.Sprintf("N=%d/naive", n), func(b *testing.B) {
			path := filled(b, n, mailbox.Options{}).Path()
			for b.Loop() {
				must(b, naive(path, func(list []map[string]any) []map[string]any {
					list[len(list)-1]["read"] = true
					return list
				}))
			}
		})
	}
}

// unmark flips the last flag back.
func unmark(b *testing.B, path string) {
	data := get(b, path)
	cut := strings.LastIndex(data, "true")
	must(b, os.WriteFile(path, []byte(data[:cut]+"false"+data[cut+4:]), 0o600))
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
