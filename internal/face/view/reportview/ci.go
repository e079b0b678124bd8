package reportview

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"waggle/operator"
	"waggle/operator/supervise"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is the report as the XML that continuous integration systems read: a test suite is the team, a test
// case a task. A failed task is a failure, a required one that is open an error, another one skipped. A
// run that ended badly without any of these has a case of its own, which is an error.
func JUnit(r *supervise.Report, exit int) ([]byte, error) {
	s := junitSuite{Name: clean(r.Team), Time: junitTime(r.Took), Stamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
	for _, t := range r.Tasks {
		c := junitCase{Class: clean(r.Team + "." + t.Owner), Name: clean(t.Subject), Time: junitTime(t.Took), Out: clean(t.OutputTail)}
		msg := &junitMessage{Message: clean(outcome(t)), Text: clean(t.OutputTail)}
		switch {
		case t.Status == "completed":
		case t.Status == "failed":
			c.Failure = msg
			s.Failures++
		case t.Required:
			c.Error = msg
			s.Errors++
		default:
			c.Skipped = msg
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	if exit != 0 && s.Failures+s.Errors == 0 {
		s.Cases = append(s.Cases, junitCase{Class: clean(r.Team), Name: "the run", Time: s.Time, Error: &junitMessage{Message: clean(r.Reason)}})
		s.Errors++
	}
	s.Tests = len(s.Cases)
	b, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{s}}, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

func junitTime(s operator.Seconds) string { return fmt.Sprintf("%.3f", time.Duration(s).Seconds()) }

// outcome is why a task is not completed.
func outcome(t supervise.TaskReport) string {
	text := t.Status
	if t.Why != "" {
		text = t.Why
	} else if t.ExitCode != nil {
		text = fmt.Sprintf("exit status %d", *t.ExitCode)
	}
	return text
}

// clean is a text of agents for a file that other programs show: without control characters.
func clean(text string) string { return operator.VisibleLines(strings.ReplaceAll(text, "\t", "    ")) }

// Annotations are lines that GitHub Actions shows beside a change: an error for each task that failed and each
// required one that is open, a warning for the others, and a last line about the run.
func Annotations(r *supervise.Report, exit int) (lines []string) {
	for _, t := range r.Tasks {
		level := "warning"
		if t.Status == "failed" || t.Required {
			level = "error"
		}
		if t.Status != "completed" {
			lines = append(lines, annotation(level, fmt.Sprintf("%s: %s", r.Team, t.Subject), strings.TrimSpace(fmt.Sprintf("%s: %s\n%s", t.Owner, outcome(t), t.OutputTail))))
		}
	}
	if exit != 0 {
		return append(lines, annotation("error", "waggle: "+r.Team, fmt.Sprintf("exit %d: %s", exit, r.Reason)))
	}
	return append(lines, annotation("notice", "waggle: "+r.Team, r.Reason))
}

// annotation is one command of GitHub Actions. Its texts cannot end it, or begin another.
func annotation(level, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s", level, property.Replace(clean(title)), data.Replace(clean(text)))
}
