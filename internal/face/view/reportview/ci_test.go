package reportview_test

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/face/view/reportview"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/supervise"
)

// ended is a report with a task of each outcome, whose texts try to be markup and commands.
func ended() *supervise.Report {
	two := 2
	return &supervise.Report{Team: "api", Reason: "required tasks failed", Began: at(0), Took: operator.Seconds(61500 * time.Millisecond), Tasks: []supervise.TaskReport{
		{ID: "1", Subject: "build", Owner: "ann", Required: true, Status: "completed", Took: operator.Seconds(1500 * time.Millisecond), OutputTail: "ok"},
		{ID: "2", Subject: "test <a> & \"b\", c: d", Owner: "bob", Required: true, Status: "failed", ExitCode: &two, OutputTail: "50%\n::error::no\x1b[2J\r]]></testsuites>\n"},
		{ID: "3", Subject: "ship", Owner: "bob", Required: true, Status: "open", Why: "it comes after test"},
		{ID: "4", Subject: "tidy", Owner: "ann", Status: "open"},
	}}
}

// A failed task is a failure, a required one that is open an error, another skipped; no text of an agent is
// markup.
func TestJUnit(t *testing.T) {
	b, err := reportview.JUnit(ended(), 1)
	testenv.Must(t, err)
	same(t, "junit.xml", string(b))
	var got struct {
		Suites []struct {
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Skipped  int    `xml:"skipped,attr"`
			Time     string `xml:"time,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	testenv.Must(t, xml.Unmarshal(b, &got))
	s := got.Suites[0]
	if len(got.Suites) != 1 || s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || s.Time != "61.500" || len(s.Cases) != 4 {
		t.Errorf("%+v", got)
	}
	if s.Cases[1].Name != `test <a> & "b", c: d` || s.Cases[0].Failure != nil || s.Cases[1].Failure == nil || s.Cases[2].Error == nil || s.Cases[3].Skipped == nil {
		t.Errorf("%+v", s.Cases)
	}
	// A run that failed has an error in JUnit, also without a task.
	b, err = reportview.JUnit(&supervise.Report{Team: "api", Reason: "timed out"}, 4)
	if text := string(b); err != nil || !strings.Contains(text, `errors="1"`) || !strings.Contains(text, `message="timed out"`) {
		t.Errorf("%v\n%s", err, b)
	}
	if b, _ := reportview.JUnit(&supervise.Report{Team: "api"}, 0); !strings.Contains(string(b), `tests="0" failures="0" errors="0"`) {
		t.Errorf("%s", b)
	}
}

// Each annotation is one line, and no text of an agent ends it or begins another.
func TestAnnotations(t *testing.T) {
	want := []string{
		`::error title=api%3A test <a> & "b"%2C c%3A d::bob: exit status 2%0A50%25%0A::error::no\x1b[2J\r]]></testsuites>`,
		"::error title=api%3A ship::bob: it comes after test",
		"::warning title=api%3A tidy::ann: open",
		"::error title=waggle%3A api::exit 1: required tasks failed",
	}
	if d := cmp.Diff(want, reportview.Annotations(ended(), 1)); d != "" {
		t.Error(d)
	}
	if got := reportview.Annotations(&supervise.Report{Team: "api", Reason: "every required task is completed"}, 0); len(got) != 1 || got[0] != "::notice title=waggle%3A api::every required task is completed" {
		t.Errorf("%q", got)
	}
}
