package demo

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"waggle/journal"
	"waggle/operator"
	"waggle/operator/teamfile"
)

// TestStory: journals are one story by time, in which each journal keeps the order of its lines, also where
// the clocks of those who write to it differ.
func TestStory(t *testing.T) {
	var recs []operator.LogRecord
	for name, times := range map[string][]int{"leader": {1, 5, 4, 7}, "ada": {2, 2, 6}} {
		for i, at := range times {
			r := operator.LogRecord{Name: name}
			r.Seq, r.Time = journal.Seq(i+1), time.Unix(int64(at), 0)
			recs = append(recs, r)
		}
	}
	var got []string
	for _, m := range story(recs) {
		got = append(got, fmt.Sprint(m.Name, m.Seq))
	}
	if want := []string{"leader1", "ada1", "ada2", "leader2", "leader3", "ada3", "leader4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFirstActFirst: a line of a later act, whoever tells it, waits until all members run and all tasks are
// assigned.
func TestFirstActFirst(t *testing.T) {
	var told []Act
	p := &play{o: Options{Tell: func(l Line) { told = append(told, l.Act) }}, f: &teamfile.File{Members: make([]teamfile.FileMember, 1), Tasks: make([]teamfile.FileTask, 1)}}
	for _, a := range []Act{ActStart, ActForged, ActPlan, ActStart, ActHost} {
		p.say([]Line{{Act: a}})
	}
	if want := []Act{ActStart, ActStart, ActPlan, ActForged, ActHost}; !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
}
