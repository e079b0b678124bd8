package view

import (
	"fmt"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/board"
)

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
