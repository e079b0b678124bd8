package snapshot_test

import (
	"reflect"
	"testing"
	"time"

	"waggle/internal/snapshot"
	"waggle/record"
)

// TestShapes: types with other fields have another shape, so that the snapshot of a fold of other
// types is refused; the same types always have the same shape.
func TestShapes(t *testing.T) {
	type inner struct{ A int }
	type other struct{ A string }
	type loop struct{ Next *loop }
	shapes := map[string]reflect.Type{}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{ A int }](), reflect.TypeFor[struct{ B int }](), reflect.TypeFor[struct{ A string }](),
		reflect.TypeFor[struct{ A, B int }](), reflect.TypeFor[struct{ B, A int }](),
		reflect.TypeFor[struct{ A inner }](), reflect.TypeFor[struct{ A other }](), reflect.TypeFor[struct{ A *inner }](),
		reflect.TypeFor[struct{ A []inner }](), reflect.TypeFor[struct{ A [2]inner }](),
		reflect.TypeFor[struct{ A map[string]inner }](), reflect.TypeFor[struct{ A map[string]other }](), reflect.TypeFor[struct{ A map[int]inner }](),
		reflect.TypeFor[struct{ A time.Time }](), reflect.TypeFor[loop](), reflect.TypeFor[record.Decided](), reflect.TypeFor[record.Answered](),
	} {
		s := snapshot.ShapeOf(typ)
		if before, ok := shapes[s]; ok || len(s) != 16 {
			t.Errorf("%v and %v have the shape %q", typ, before, s)
		}
		if again := snapshot.ShapeOf(typ); again != s {
			t.Errorf("%v has the shapes %q and %q", typ, s, again)
		}
		shapes[s] = typ
	}
	// A nested type counts by its fields, not only by its name.
	if deep(func() reflect.Type { type T struct{ A int }; return reflect.TypeFor[*T]() }()) ==
		deep(func() reflect.Type { type T struct{ A string }; return reflect.TypeFor[*T]() }()) {
		t.Error("two types of one name whose field is of another type have one shape")
	}
	if deep(func() reflect.Type { type T struct{ A int }; return reflect.TypeFor[*T]() }()) ==
		deep(func() reflect.Type { type T struct{ B int }; return reflect.TypeFor[*T]() }()) {
		t.Error("two types of one name whose field has another name have one shape")
	}
	keyed := func(key reflect.Type) string { return snapshot.ShapeOf(reflect.MapOf(key, reflect.TypeFor[int]())) }
	if keyed(func() reflect.Type { type T struct{ A int }; return reflect.TypeFor[T]() }()) ==
		keyed(func() reflect.Type { type T struct{ A string }; return reflect.TypeFor[T]() }()) {
		t.Error("two maps whose keys have fields of other types have one shape")
	}
}

func deep(t reflect.Type) string {
	return snapshot.ShapeOf(reflect.MapOf(reflect.TypeFor[string](), reflect.SliceOf(t)))
}
