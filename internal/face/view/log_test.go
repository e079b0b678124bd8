package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/journal"
	"waggle/operator"
)

func TestLog(t *testing.T) {
	recs := []view.LogEntry{{Sentence: "asks 7KQF: Bash ls", LogRecord: operator.LogRecord{Team: "api", Name: "ann", Record: journal.Record{Seq: 3, Time: at(0), Kind: "asked", Body: json.RawMessage(`{"id":"perm-1"}`), Writer: journal.Writer{Operator: true}, Journal: "0123"}}}}
	golden(t, "log", view.Log(recs, nil))
	golden(t, "log_empty", view.Log(nil, nil))
	broken := &operator.JournalError{Team: "api", Journal: "0123", Owner: "ann", Err: errors.New("it is a directory")}
	golden(t, "log_broken", view.Log(nil, errors.Join(nil, fmt.Errorf("team api: %w", broken))))
	golden(t, "log_record", view.LogRecord(recs[0].LogRecord))
	samePage(t, "log", view.LogPage(recs, false, now))
	samePage(t, "log_several", view.LogPage(recs, true, now))
	samePage(t, "log_raw", view.RawLogPage(recs, false))
	lines(t, "log_line", []page.Line{view.LogLine(recs[0].LogRecord), view.LogEntryLine(recs[0], true, now)})
}
