package view

import (
	"encoding/json"
	"time"

	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
)

// LogDocument is one journal record.
type LogDocument struct {
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
	Records []LogDocument `json:"records"`
}

// Log is the document of records.
func Log(recs []operator.LogRecord) LogList {
	l := LogList{make([]LogDocument, 0, len(recs))}
	for _, r := range recs {
		l.Records = append(l.Records, LogRecord(r))
	}
	return l
}

// LogRecord is the document of one record.
func LogRecord(r operator.LogRecord) LogDocument {
	return LogDocument{logTime(r), string(r.Journal), r.Name, uint64(r.Seq), r.Writer, r.Kind, r.Body}
}

// logTime is whole: a record's time is part of its journal.
func logTime(r operator.LogRecord) string { return r.Time.UTC().Format(time.RFC3339Nano) }

// LogPage has a row for each record.
func LogPage(recs []operator.LogRecord) (p Page) {
	t := Table{Head: []string{"TIME", "JOURNAL", "KIND", "BODY"}}
	for _, r := range recs {
		t.Rows = append(t.Rows, []string{logTime(r), r.Name, r.Kind, decide.ShownJSON(string(r.Body))})
	}
	p.table(t)
	return p
}

// LogLine is a record that is followed.
func LogLine(r operator.LogRecord) Line {
	return Line{faint(logTime(r)), plain(" "), strong(r.Name), plain(" "), warning(r.Kind), plain(" " + decide.ShownJSON(string(r.Body)))}
}
