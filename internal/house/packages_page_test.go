package house_test

import (
	"cmp"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestPackagesPage: docs/packages.md has every package with its row, and the first
// sentence of its comment. -update writes it.
func TestPackagesPage(t *testing.T) {
	const page = "docs/packages.md"
	have := textOf(t, page)
	want := have
	for name, rows := range map[string]map[string]archRow{"packages": archRows, "test packages": archHelpers} {
		before, rest, begun := strings.Cut(want, "<!-- generated: "+name+" -->\n")
		_, after, ended := strings.Cut(rest, "<!-- /generated -->\n")
		if !begun || !ended {
			t.Fatalf("%s has no section %q", page, name)
		}
		want = before + "<!-- generated: " + name + " -->\n" + packageTable(t, rows) + "<!-- /generated -->\n" + after
	}
	if *update {
		testenv.Must(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	if have != want {
		t.Errorf("%s is not what the packages say of themselves; go test ./internal/house -run TestPackagesPage -update", page)
	}
}

// packageTable lists the packages of rows that are written, the lowest row first.
func packageTable(t *testing.T, rows map[string]archRow) string {
	t.Helper()
	var dirs []string
	for dir := range rows {
		if _, err := os.Stat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(rows[a].row, rows[b].row), cmp.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("| row | package | for | what it is | why it is in this row |\n|---|---|---|---|---|\n")
	for _, dir := range dirs {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", rows[dir].row, dir, whom(dir), strings.ReplaceAll(synopsis(t, dir), "|", `\|`), rows[dir].why)
	}
	return b.String()
}

// embedders are the packages that programs which embed waggle are written against, and examples/embed is.
var embedders = []string{"agent", "boxes", "machine", "mailbox", "operator", "operator/agentcheck", "operator/decide", "operator/supervise", "operator/teamfile",
	"poll", "protocol", "spawn", "task", "team", "worker"}

// whom says for whom a package is.
func whom(dir string) string {
	switch {
	case slices.Contains(embedders, dir):
		return "embedders"
	case strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "cmd/") || dir == "schema/gen":
		return "waggle"
	}
	return "may change"
}

// TestEmbedders: the examples and the page about embedding need no other package.
func TestEmbedders(t *testing.T) {
	files, err := filepath.Glob("examples/embed/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range append(files, "docs/guide/embed.md") {
		for _, m := range regexp.MustCompile(`"waggle/([a-z/]+)"`).FindAllStringSubmatch(textOf(t, path), -1) {
			if m[1] != "otel" && !slices.Contains(embedders, m[1]) {
				t.Errorf("%s imports %s, which may change", path, m[1])
			}
		}
	}
}

// synopsis is the first sentence of a package's comment.
func synopsis(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	testenv.Must(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		testenv.Must(t, err)
		if f.Doc != nil {
			return new(doc.Package).Synopsis(f.Doc.Text())
		}
	}
	t.Errorf("%s has no package comment", dir)
	return ""
}
