package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/protocol"
)

// TestAddedFieldIsFollowed: a field that is added to those of a kind is a row of its table, with all
// of its columns.
func TestAddedFieldIsFollowed(t *testing.T) {
	for _, info := range protocol.Kinds() {
		list := protocol.Fields(info.Kind)
		if info.Kind != protocol.KindShutdownApproved {
			if got := fieldRows(info, list); (got == nil) != (list == nil) || got != nil && len(got) <= len(list) {
				t.Errorf("%s: %d fields, %d rows", info.Kind, len(list), len(got))
			}
			continue
		}
		rows := fieldRows(info, append(list, protocol.Field{
			Name: "look.colour", Type: protocol.FieldText, NotEmpty: true, Decides: true, Also: []string{"tint"}, Doc: "The colour.",
			Spellings: []protocol.Spelling{
				{Dialect: protocol.DialectWire, Path: "look.colour", Always: true, Written: true},
				{Dialect: protocol.DialectCatalog, Path: "look.paint", Written: true},
				{Dialect: protocol.DialectTool, Path: "hue"},
			},
			Items: []protocol.Field{{Name: "shade", Type: protocol.FieldFlag, Doc: "Its shade."}},
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
