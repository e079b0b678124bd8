package fields_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/internal/repo/docgen/fields"
)

// TestAddedFieldIsFollowed: a field that is added to those of a kind is a row of its table, with all
// of its columns.
func TestAddedFieldIsFollowed(t *testing.T) {
	for _, info := range waggle.Kinds() {
		list := waggle.Fields(info.Kind)
		if info.Kind != waggle.KindShutdownApproved {
			if got := fields.Rows(info, list); (got == nil) != (list == nil) || got != nil && len(got) <= len(list) {
				t.Errorf("%s: %d fields, %d rows", info.Kind, len(list), len(got))
			}
			continue
		}
		rows := fields.Rows(info, append(list, waggle.Field{
			Name: "look.colour", Type: waggle.FieldText, NotEmpty: true, Decides: true, Also: []string{"tint"}, Doc: "The colour.",
			Spellings: []waggle.Spelling{
				{Dialect: waggle.DialectWire, Path: "look.colour", Always: true, Written: true},
				{Dialect: waggle.DialectCatalog, Path: "look.paint", Written: true},
				{Dialect: waggle.DialectTool, Path: "hue"},
			},
			Items: []waggle.Field{{Name: "shade", Type: waggle.FieldFlag, Doc: "Its shade."}},
		}))
		want := [][]string{
			{"`look.colour`", "always", "`look.paint`", "`hue`, `tint`", "text, not empty", "the worker decides", "The colour."},
			{"`look.colour[].shade`", "", "", "", "flag", "", "Its shade."},
		}
		if diff := cmp.Diff(want, rows[len(rows)-2:]); diff != "" {
			t.Error(diff)
		}
	}
}
