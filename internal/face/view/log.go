package view

import (
	"encoding/json"
	"time"

	"waggle/internal/face/view/page"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// LogDocument is one journal record.
type LogDocument struct {
	Team    string          `json:"team"`
	Time    string          `json:"time"`
	Journal string          `json:"journal"`
	Name    string          `json:"name"` // leader, or the member
	Seq     uint64          `json:"seq"`
	Writer  journal.Writer  `json:"writer"` // as the journal has it
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// LogList is the document of records.
type LogList struct {
	Records  []LogDocument       `json:"records"`
	Problems []inspect.BadRecord `json:"problems,omitempty"` // journals that cannot be read to their end
}

// Log is the document of records. broken is the error of the journals that cannot be read.
func Log(es []LogEntry, broken error) LogList {
	l := LogList{make([]LogDocument, 0, len(es)), unread(broken)}
	for _, e := range es {
		l.Records = append(l.Records, LogRecord(e.LogRecord))
	}
	return l
}

// LogRecord is the document of one record.
func LogRecord(r operator.LogRecord) LogDocument {
	return LogDocument{string(r.Team), logTime(r), string(r.Journal), r.Name, uint64(r.Seq), r.Writer, r.Kind, r.Body}
}

// logTime is whole: a record's time is part of its journal.
func logTime(r operator.LogRecord) string { return r.Time.UTC().Format(time.RFC3339Nano) }

// LogEntry is a record and its sentence.
type LogEntry struct {
	operator.LogRecord
	Sentence string
}

// LogPage has a sentence for each record. several adds the column of teams.
func LogPage(es []LogEntry, several bool, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"TIME", "TEAM", "WHO", "KIND", "WHAT"}, About: true}
	for _, e := range es {
		t.Rows = append(t.Rows, []string{page.ClockSeconds(e.Time, now), string(e.Team), e.Name, e.Kind, e.Sentence})
	}
	p.Table(t.WithTeam(several))
	return p
}

// LogEntryLine is a record that is followed, in words.
func LogEntryLine(e LogEntry, several bool, now time.Time) page.Line {
	l := page.Line{page.Faint(page.ClockSeconds(e.Time, now)), page.Plain(" ")}
	if several {
		l = append(l, page.Plain(string(e.Team)+" "))
	}
	return append(l, page.Strong(e.Name), page.Plain(" "), page.Warning(e.Kind), page.Plain(" "+e.Sentence))
}

// RawLogPage has a row for each record, with its body as it is.
func RawLogPage(es []LogEntry, several bool) (p page.Page) {
	t := page.Table{Head: []string{"TIME", "TEAM", "JOURNAL", "KIND", "BODY"}}
	for _, e := range es {
		t.Rows = append(t.Rows, []string{logTime(e.LogRecord), string(e.Team), e.Name, e.Kind, decide.ShownJSON(string(e.Body))})
	}
	p.Table(t.WithTeam(several))
	return p
}

// LogLine is a record with its body as it is.
func LogLine(r operator.LogRecord) page.Line {
	return page.Line{page.Faint(logTime(r)), page.Plain(" "), page.Strong(r.Name), page.Plain(" "), page.Warning(r.Kind), page.Plain(" " + decide.ShownJSON(string(r.Body)))}
}
