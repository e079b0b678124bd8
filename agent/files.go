package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"waggle/internal/fs/realpath"
	"waggle/policy"
)

// spelledAt is the absolute path that a file is named by, cleaned unless it holds
// "..": which file that names depends on the links before it.
func spelledAt(cwd, path string) string {
	if !filepath.IsAbs(path) {
		path = cwd + string(filepath.Separator) + path
	}
	if strings.Contains(path, "..") {
		return path
	}
	return filepath.Clean(path)
}

// resolved is where a path leads now. One that cannot be resolved has no Real.
func resolved(spelled string) policy.RealPath {
	real, err := realpath.Real(spelled)
	if err != nil {
		real = ""
	}
	return policy.RealPath{Spelled: spelled, Real: real}
}

// write is a Write call from its request to its end. It writes to the path that it resolved before
// it asked, which the gate records and judges.
type write struct {
	cwd  policy.RealPath
	file []policy.RealPath // none when the input names none
}

func newWrite(input json.RawMessage, cwd string) write {
	w := write{cwd: resolved(filepath.Clean(cwd))}
	if path, _, err := writeInput(input); err == nil {
		w.file = []policy.RealPath{resolved(spelledAt(cwd, path))}
	}
	return w
}

func writeInput(input json.RawMessage) (path, content string, err error) {
	var m map[string]json.RawMessage
	err = json.Unmarshal(input, &m)
	if err == nil {
		err = errors.Join(json.Unmarshal(m["file_path"], &path), json.Unmarshal(m["content"], &content))
	}
	return path, content, err
}

// run writes the file that was allowed, which has come from the answer.
func (w write) run(input json.RawMessage) Ran {
	path, content, err := writeInput(input)
	if err == nil && path == "" {
		err = errors.New("file_path is empty")
	}
	if err != nil {
		return Ran{Failed: true, Err: err.Error()}
	}
	spelled := spelledAt(w.cwd.Spelled, path)
	allowed := w.allowed(spelled)
	now, err := realpath.Real(spelled)
	switch {
	case err != nil:
		return Ran{Failed: true, Err: err.Error()}
	case now != allowed:
		return Ran{Failed: true, Err: changed(spelled, now, allowed)}
	}
	err = realpath.WriteFile(allowed, []byte(content), 0o644)
	var at *fs.PathError
	switch {
	case errors.Is(err, realpath.ErrLink):
		return Ran{Failed: true, Err: changed(spelled, "another file, by a new symbolic link", allowed)}
	case errors.As(err, &at):
		return Ran{Failed: true, Err: fmt.Sprintf("%s %s: %v", at.Op, leads(spelled, allowed), at.Err)}
	case err != nil:
		return Ran{Failed: true, Err: err.Error()}
	}
	return Ran{Tail: "wrote " + leads(spelled, allowed)}
}

// allowed is the file that a path stood for when it was allowed. A path that came
// with the answer was not resolved before: it is allowed as it is spelled, without a
// link below the working directory.
func (w write) allowed(spelled string) string {
	for _, f := range w.file {
		if f.Spelled == spelled {
			return f.Real
		}
	}
	text := filepath.Clean(spelled)
	if rel, ok := strings.CutPrefix(text, w.cwd.Spelled+string(filepath.Separator)); ok && w.cwd.Real != "" {
		return filepath.Join(w.cwd.Real, rel)
	}
	return text
}

func changed(spelled, now, allowed string) string {
	if allowed == "" {
		allowed = "a file that could not be resolved"
	}
	return fmt.Sprintf("%s changed: it leads to %s now, and what was allowed was %s; nothing was written, ask again", spelled, now, allowed)
}

func leads(spelled, real string) string {
	if spelled = filepath.Clean(spelled); spelled == real {
		return spelled
	}
	return spelled + " (" + real + ")"
}
