package schema_test

import (
	"fmt"

	"waggle/protocol"
	"waggle/schema"
)

func ExampleFor() {
	s, err := schema.For(protocol.KindTaskCompleted)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Required)
	_, err = schema.For("greeting")
	fmt.Println(err)
	// Output:
	// [type from taskId timestamp]
	// schema: kind "greeting" has no payload schema
}
