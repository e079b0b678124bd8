package view_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/view"
	"waggle/journal"
	"waggle/operator"
)

func TestLog(t *testing.T) {
	recs := []operator.LogRecord{{Name: "ann", Record: journal.Record{Seq: 3, Time: at(0), Kind: "asked", Body: json.RawMessage(`{"id":"perm-1"}`), Writer: journal.Writer{Operator: true}, Journal: "0123"}}}
	golden(t, "log", view.Log(recs))
	golden(t, "log_empty", view.Log(nil))
	golden(t, "log_record", view.LogRecord(recs[0]))
	page(t, "log", view.LogPage(recs))
	lines(t, "log_line", []view.Line{view.LogLine(recs[0])})
}
