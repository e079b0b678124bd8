package view

import (
	"fmt"
	"time"

	"waggle/internal/view/page"
	"waggle/operator/board"
)

// ArtifactsDocument are the files that members made.
type ArtifactsDocument struct {
	Artifacts []ArtifactDocument `json:"artifacts"`
}

// ArtifactDocument is one file that a member left in its directory.
type ArtifactDocument struct {
	Member   string `json:"member"`
	Kind     string `json:"kind"` // artifact, log, status
	Path     string `json:"path"` // from the member's directory
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

// Artifacts is the document of files that members made.
func Artifacts(rows []board.ArtifactRow) ArtifactsDocument {
	d := ArtifactsDocument{make([]ArtifactDocument, 0, len(rows))}
	for _, r := range rows {
		d.Artifacts = append(d.Artifacts, ArtifactDocument{string(r.Member), r.Kind, r.Path, r.Size, page.Stamp(r.Modified)})
	}
	return d
}

// ArtifactsPage has a row for each file.
func ArtifactsPage(rows []board.ArtifactRow, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"MEMBER", "KIND", "SIZE", "AGE", "PATH"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{string(r.Member), r.Kind, Size(r.Size), page.Since(r.Modified, now), r.Path})
	}
	p.Table(t)
	return p
}

// Size is a number of bytes for people.
func Size(n int64) string {
	const k = 1 << 10
	switch {
	case n < k:
		return fmt.Sprintf("%d B", n)
	case n < k*k:
		return fmt.Sprintf("%.1f KiB", float64(n)/k)
	case n < k*k*k:
		return fmt.Sprintf("%.1f MiB", float64(n)/(k*k))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(k*k*k))
}
