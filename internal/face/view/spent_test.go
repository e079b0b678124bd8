package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/face/view/sentence"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestSpent: the status has a member's record.Usage, with its source.
func TestSpent(t *testing.T) {
	u := record.Usage{Input: 1000, Output: 200, CacheRead: 30, CacheWrite: 4, CostMicros: 1_239_999, Source: record.UsageReported}
	if got := sentence.Spent(u); got != "1234 tokens, $1.23, reported" {
		t.Error(got)
	}
	d := view.Status(&inspect.Status{Members: []inspect.MemberStatus{{Name: "ann", Spent: &u, Conversation: &record.Conversation{ID: "c", Model: "m"}, Steps: []record.Step{{Text: "look", State: "pending"}}}, {Name: "bob"}}})
	if m := d.Members[0]; m.Spent.CostMicros != 1_239_999 || m.Spent.Source != "reported" || m.Conversation.ID != "c" || m.Steps[0].Text != "look" {
		t.Errorf("%+v", m)
	}
	if m := d.Members[1]; m.Spent != nil || m.Conversation != nil || m.Steps != nil {
		t.Errorf("%+v", m)
	}
}
