package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/control"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// spoken is an envelope of words with an id of its own.
func (w *world) spoken(from, text string) protocol.Envelope {
	m := w.mint()
	return protocol.Envelope{From: from, Text: text, Timestamp: protocol.FormatTime(m.Now), MsgV: 1, MsgID: m.MsgID, Type: "message"}
}

// say records words to a member and returns their order.
func (w *world) say(m *member, env protocol.Envelope, words record.Words) *control.Order {
	w.t.Helper()
	words.By = policy.RoleOperator
	w.do(operator, func() ([]journal.Draft, error) {
		mem, _ := w.l.ByInstance(m.instance)
		return w.l.Say(mem, m.name, env, words)
	})
	return w.l.Spoken(env.Hash())
}

// TestSayRefuses: control messages, words to members that have left, and priorities that are only
// for the lead's own words to its member are refused before they are recorded, and ignored when a
// record has them all the same.
func TestSayRefuses(t *testing.T) {
	w, ann := withAnn(t)
	mem, _ := w.l.ByInstance(ann.instance)
	interrupt := record.Words{Priority: record.PriorityInterrupt, By: policy.RoleOperator}
	for name, step := range map[string]func() ([]journal.Draft, error){
		"control": func() ([]journal.Draft, error) {
			return w.l.Say(mem, "ann", w.spoken("team-lead", `{"type":"shutdown_request","requestId":"s1"}`), record.Words{})
		},
		"a peer steers":   func() ([]journal.Draft, error) { return w.l.Say(mem, "ann", w.spoken("bob", "stop"), interrupt) },
		"nobody to steer": func() ([]journal.Draft, error) { return w.l.Say(nil, "eve", w.spoken("team-lead", "stop"), interrupt) },
		"replaces nothing": func() ([]journal.Draft, error) {
			return w.l.Say(mem, "ann", w.spoken("team-lead", "x"), record.Words{Supersedes: 1})
		},
		"replaces an order": func() ([]journal.Draft, error) {
			return w.l.Say(mem, "ann", w.spoken("team-lead", "x"), record.Words{Supersedes: 99})
		},
	} {
		var refused *control.RefusedError
		if _, err := step(); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mail := func(from, text string) *record.Mail {
		ds, err := w.l.Say(nil, "ann", w.spoken(from, text), record.Words{})
		testenv.Must(t, err)
		return ds[0].Body.(record.Words).Mail
	}
	before := len(w.l.Ignored)
	again := mail("team-lead", "twice")
	w.append(operator, record.KindSaid, record.Words{Mail: again})
	w.append(operator, record.KindSaid, record.Words{Mail: again})
	w.append(operator, record.KindSaid, record.Words{Instance: ann.instance, Priority: record.PriorityInterrupt, Mail: mail("bob", "stop")})
	w.append(operator, record.KindSaid, record.Words{Instance: "nobody", Mail: mail("team-lead", "hello")})
	w.append(ann.writer(), record.KindSaid, record.Words{Instance: ann.instance, Priority: record.PriorityInterrupt, Mail: mail("team-lead", "stop")})
	for range 2 {
		w.append(operator, record.KindClosed, record.Closed{Ref: uint64(w.l.Spoken(envelopeOf(t, again).Hash()).Seq), Evidence: record.Withdrawn})
	}
	if got := len(w.l.Ignored) - before; got != 5 {
		t.Errorf("%d records ignored, want 5: %+v", got, w.l.Ignored[before:])
	}
}

// TestWordsOnce: in any order of saying, sending, copying, taking, hearing, withdrawing, replacing,
// expiring and restarting, words are given to a session at most once, never after they were
// withdrawn in time, and the folds of both journals can be rebuilt.
func TestWordsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, ann := withAnn(rt)
		var all []*control.Order
		given, back := map[string]int{}, map[string]bool{}
		busy := false
		give := func(step func([]string) ([]journal.Draft, error)) {
			w.must(ann.lj.Refresh(rt.Context()))
			entries, seen := []string{}, map[*control.Order]bool{}
			for _, e := range ann.box.entries {
				if !ann.w.Owns(e.id) && ann.lead.Unsaid(e.id, w.now) == "" && !ann.w.Copy(e.id, ann.lead) {
					entries = append(entries, e.id)
					if o := ann.lead.Spoken(e.id); !seen[o] {
						seen[o] = true
						given[o.Hash]++
					}
				}
			}
			if len(entries) > 0 {
				ann.do(func() ([]journal.Draft, error) { return step(entries) })
			}
		}
		pick := func() *control.Order { return all[rapid.IntRange(0, len(all)-1).Draw(rt, "which")] }
		send := func(o *control.Order) {
			env := envelopeOf(rt, o.Mail)
			n := 1 // the test's mailbox computes other hashes; the hash of the words counts
			for _, e := range ann.box.entries {
				if strings.HasPrefix(e.id, o.Hash) {
					n++
				}
			}
			if n < 4 {
				ann.box.entries = append(ann.box.entries, entry{id: o.Hash + "#" + string(rune('0'+n)), env: env})
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(*rapid.T) {
				words := record.Words{}
				if rapid.Bool().Draw(rt, "expires") {
					soon := w.now.Add(time.Minute)
					words.Expires = &soon
				}
				if len(all) > 0 && rapid.Bool().Draw(rt, "replaces") {
					if old := pick(); !old.Closed {
						words.Supersedes = uint64(old.Seq)
						back[old.Hash] = back[old.Hash] || !ann.w.HasTaken(old)
					}
				}
				all = append(all, w.say(ann, w.spoken("team-lead", "words"), words))
				if rapid.IntRange(0, 4).Draw(rt, "sent") > 0 {
					send(all[len(all)-1])
				}
			},
			"copy": func(rt *rapid.T) {
				if len(all) == 0 {
					rt.Skip("nothing was said")
				}
				send(pick())
			},
			"give": func(*rapid.T) {
				give(func(es []string) ([]journal.Draft, error) {
					if busy {
						return ann.w.Hear(es, ann.lead)
					}
					busy = true
					return ann.w.Take(record.Taken{Entries: es}, ann.lead)
				})
			},
			"idle": func(*rapid.T) {
				if busy {
					busy = false
					ann.says(protocol.IdleNotification{From: "ann", Timestamp: protocol.FormatTime(w.now), IdleReason: "available"}, record.Said{})
				}
			},
			"unsay": func(rt *rapid.T) {
				if len(all) == 0 {
					rt.Skip("nothing was said")
				}
				o := pick()
				_, err := w.j.Append(rt.Context(), operator, func() ([]journal.Draft, error) { return w.l.Unsay(o, record.Withdrawn) })
				if err == nil {
					back[o.Hash] = back[o.Hash] || !ann.w.HasTaken(o)
				}
			},
			"meanwhile": func(rt *rapid.T) {
				switch rapid.IntRange(0, 4).Draw(rt, "what") {
				case 0:
					w.now = w.now.Add(20 * time.Second)
				case 1:
					w.do(w.lead(), func() ([]journal.Draft, error) { return w.l.Lapse(w.now), nil })
				case 2:
					w.do(w.lead(), func() ([]journal.Draft, error) { return w.l.Settle(ann.w), nil })
				case 3:
					ann.boot()
				case 4:
					ann.box.entries = nil
				}
			},
			"": func(rt *rapid.T) {
				for _, o := range all {
					switch {
					case given[o.Hash] > 1:
						rt.Fatalf("words were given %d times", given[o.Hash])
					case given[o.Hash] > 0 && back[o.Hash]:
						rt.Fatalf("words were taken back in time and given all the same")
					case (given[o.Hash] > 0) != ann.w.HasTaken(o):
						rt.Fatalf("given %d times, on record as taken: %v", given[o.Hash], ann.w.HasTaken(o))
					}
				}
			},
		})
		fresh := control.NewLeader(nil)
		w.must(w.mem.Open(fresh).Refresh(rt.Context()))
		if diff := cmp.Diff(w.l, fresh, sameFold); diff != "" {
			rt.Fatalf("the fold of the leader's journal (-as it went +anew):\n%s", diff)
		}
	})
}

// TestOldSpellingFolds: the journal of an older waggle has its envelopes with HTML escapes. They
// fold to the same words and keep their bytes; an envelope that is written now has no such escape.
func TestOldSpellingFolds(t *testing.T) {
	w, ann := withAnn(t)
	env := w.spoken("team-lead", "a && b <c>")
	old := `"text":"a \u0026\u0026 b \u003cc\u003e"`
	w.do(operator, func() ([]journal.Draft, error) {
		mem, _ := w.l.ByInstance(ann.instance)
		ds, err := w.l.Say(mem, ann.name, env, record.Words{By: policy.RoleOperator})
		if err != nil {
			return nil, err
		}
		words := ds[0].Body.(record.Words)
		if now := string(words.Mail.Envelope); !strings.Contains(now, `"text":"a && b <c>"`) {
			t.Errorf("the envelope is written as %s", now)
		}
		var b bytes.Buffer
		json.HTMLEscape(&b, words.Mail.Envelope)
		words.Mail.Envelope = b.Bytes()
		ds[0].Body = words
		return ds, nil
	})
	o := w.l.Spoken(env.Hash())
	if o == nil || !strings.Contains(string(o.Mail.Envelope), old) {
		t.Fatalf("%+v", o)
	}
	got, err := o.Mail.Open()
	if err != nil || got.Text != env.Text || !strings.Contains(string(got.AppendJSON(nil)), strings.Replace(old, ":", ": ", 1)) {
		t.Errorf("%v: %+v\n%s", err, got, got.AppendJSON(nil))
	}
}
