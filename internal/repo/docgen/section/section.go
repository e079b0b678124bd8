// Package section rewrites the parts of a Markdown page that programs write:
//
//	<!-- generated: kinds -->
//	…
//	<!-- /generated -->
//
// The markers stand alone on their lines. Everything outside them is a person's,
// and stays as it is; markers inside a fenced code block are text.
package section

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	begin = "<!-- generated: "
	end   = "<!-- /generated -->"
)

// Wrap returns a section with its markers.
func Wrap(name, body string) string {
	return begin + name + " -->\n" + strings.TrimRight(body, "\n") + "\n" + end + "\n"
}

// Keep puts a section into the page at path. A page that is not there begins with head.
func Keep(path, head, name, body string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte(head), os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	out, err := put(string(data), name, body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(out), 0o644)
}

// put replaces a section of a page, and puts a new one at its end.
func put(page, name, body string) (string, error) {
	found := false
	out, err := Fill(page, func(n, old string) (string, error) {
		if n != name {
			return old, nil
		}
		found = true
		return body, nil
	})
	if err != nil || found {
		return out, err
	}
	return strings.TrimRight(page, "\n") + "\n\n" + Wrap(name, body), nil
}

// Fill calls content with the name and the present body of each section of page,
// in order, and returns the page with the bodies that it gave.
func Fill(page string, content func(name, old string) (string, error)) (string, error) {
	var out, old strings.Builder
	name, opened, fence := "", 0, ""
	for i, line := range strings.SplitAfter(page, "\n") {
		text := strings.TrimSpace(line)
		if opened == 0 {
			out.WriteString(line)
			fence = inFence(fence, text)
			if fence != "" {
				continue
			}
			if text == end {
				return "", fmt.Errorf("line %d: %s without a beginning", i+1, end)
			}
			if n, ok := named(text); ok {
				name, opened = n, i+1
			}
			continue
		}
		if n, ok := named(text); ok {
			return "", fmt.Errorf("line %d: section %q begins inside %q of line %d", i+1, n, name, opened)
		}
		if text != end {
			old.WriteString(line)
			continue
		}
		body, err := content(name, old.String())
		if err != nil {
			return "", fmt.Errorf("line %d: section %q: %w", opened, name, err)
		}
		out.WriteString(strings.TrimRight(body, "\n") + "\n" + line)
		old.Reset()
		opened = 0
	}
	if opened != 0 {
		return "", fmt.Errorf("line %d: section %q has no %s", opened, name, end)
	}
	return out.String(), nil
}

func named(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, begin)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, " -->")
}

// inFence returns the fence that is open after a line, given the one before it.
func inFence(open, line string) string {
	for _, f := range []string{"```", "~~~"} {
		if !strings.HasPrefix(line, f) {
			continue
		}
		switch open {
		case "":
			return f
		case f:
			return ""
		}
	}
	return open
}
