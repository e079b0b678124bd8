package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"time"
)

// ShapeOf names a type by the names and types of everything in it.
func ShapeOf(t reflect.Type) string {
	h := sha256.New()
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprintf(h, "%s %s;", t, t.Kind())
		if seen[t] || t == TimeType {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				fmt.Fprintf(h, "%s:", f.Name)
				walk(f.Type)
			}
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(t.Elem())
		}
	}
	walk(t)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var TimeType = reflect.TypeFor[time.Time]()
