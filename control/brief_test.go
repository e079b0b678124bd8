package control_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/control"
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
)

// TestBriefForgets: a brief fold has the open requests and words that a whole fold has, and no
// closed ones, no news and no audit records.
func TestBriefForgets(t *testing.T) {
	w, ann := working(t, record.PolicySet{}, false)
	over, open := ann.ask(tool, bash), ann.ask(host, record.Ask{Host: "a.test"})
	w.answered(over, true)
	w.see(w.box.put(envelope("eve", encode(t, protocol.IdleNotification{From: "eve", Timestamp: stamp, IdleReason: "available"})), false))
	w.append(w.lead(), record.KindEnding, record.Ending{}) // ignored: only the operator ends the team
	gone := w.say(ann, w.spoken("team-lead", "never mind"), record.Words{})
	w.append(operator, record.KindClosed, record.Closed{Ref: uint64(gone.Seq), Evidence: record.Withdrawn})
	stays := w.say(ann, w.spoken("team-lead", "go on"), record.Words{})
	ann.idle()
	w.round()
	if len(w.l.Unverified) == 0 || len(w.l.Ignored) == 0 || len(w.l.NewsAfter(0)) == 0 || w.request(over).State != machine.RequestClosed {
		t.Fatalf("%d audit records, %d ignored, %d news, the request is %s", len(w.l.Unverified), len(w.l.Ignored), len(w.l.NewsAfter(0)), w.request(over).State)
	}
	brief := control.NewBrief(nil)
	j := w.mem.Open(brief)
	w.must(j.Refresh(t.Context()))
	w.append(operator, record.KindLeading, record.LeadingProcess{})
	w.must(j.Refresh(t.Context()))
	if len(brief.Unverified) > 0 || len(brief.Ignored) > 0 || brief.NewsAfter(0) != nil {
		t.Errorf("%d audit records, %d ignored, %d news", len(brief.Unverified), len(brief.Ignored), len(brief.NewsAfter(0)))
	}
	if _, ok := brief.Request(over); ok || len(brief.Requests) != 1 {
		t.Errorf("the closed request is there, of %d", len(brief.Requests))
	}
	if r, ok := brief.Request(open); !ok || r != brief.Requests[0] || r.State != machine.RequestPending || r.Handle != w.request(open).Handle {
		t.Errorf("the open request: %+v", r)
	}
	if brief.Spoken(gone.Hash) != nil || brief.OrderAt(gone.Seq) != nil || len(brief.SpokenAs(gone.MsgID)) > 0 || len(brief.Vouches(ann.instance, gone.Mail.Kind, gone.Mail.SHA256)) > 0 {
		t.Error("the withdrawn words are there")
	}
	if o := brief.Spoken(stays.Hash); o == nil || brief.OrderAt(stays.Seq) != o || len(brief.SpokenAs(stays.MsgID)) != 1 {
		t.Errorf("the words: %+v", o)
	}
	if m, ok := brief.ByInstance(ann.instance); !ok || m.Name != "ada" {
		t.Errorf("ada: %+v", m)
	}
	for what, o := range map[string]*control.Order{"withdrawn": w.l.Spoken(gone.Hash), "": w.l.Spoken(stays.Hash)} {
		ds, err := w.l.Unsay(o, record.Withdrawn)
		var refused *control.RefusedError
		if what != "" && (ds != nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), what)) || what == "" && (len(ds) != 1 || err != nil) {
			t.Errorf("%q is taken back: %+v, %v", what, ds, err)
		}
	}
	w.append(w.lead(), record.KindLeft, record.Left{Instance: ann.instance, How: record.LeftStopped})
	if _, err := w.l.Unsay(w.l.Spoken(stays.Hash), record.Withdrawn); err == nil || !strings.Contains(err.Error(), "too late: the words are their recipient has ended") {
		t.Errorf("their recipient has left: %v", err)
	}
}
