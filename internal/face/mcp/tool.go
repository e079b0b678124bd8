package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/internal/json/jsonobj"
)

// maxArguments is the largest size of the arguments of one call.
const maxArguments = 1 << 20

// raw is a JSON object that is passed on byte by byte.
type raw = json.RawMessage

// schemas has the schemas of types for which their fields are not enough.
var schemas = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[raw](): {Type: "object", Description: "a JSON object"},
}}

// hints describe the effects of a tool, so that a client can ask its user for consent.
type hints struct {
	reads       bool // changes nothing, so that it may be repeated
	destructive bool
}

func (h hints) annotations(title string) *sdk.ToolAnnotations {
	closed := false
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: h.reads, IdempotentHint: h.reads, DestructiveHint: &h.destructive, OpenWorldHint: &closed}
}

// add makes a tool. Its schemas come from In and Out; its arguments are read by exact name.
func add[In, Out any](s *sdk.Server, name, title, description string, h hints, do func(context.Context, In) (Out, error)) {
	in := schemaOf[In]()
	check, err := in.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: tool %s: %v", name, err)) // a type of this package
	}
	t := &sdk.Tool{Name: name, Title: title, Description: description, Annotations: h.annotations(title), InputSchema: in, OutputSchema: schemaOf[Out]()}
	s.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		args, err := decode[In](req.Params.Arguments, check)
		if err != nil {
			return failed(fmt.Errorf("%s: %w", name, err)), nil
		}
		out, err := do(ctx, args)
		if err != nil {
			return failed(fmt.Errorf("%s: %w", name, err)), nil
		}
		data, err := jsonobj.Marshal(out)
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil
	})
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](schemas)
	if err != nil {
		panic(fmt.Sprintf("mcp: %T: %v", *new(T), err)) // a type of this package
	}
	return s
}

// decode checks arguments against the schema and reads them; objects in them keep their bytes.
func decode[In any](data json.RawMessage, check *jsonschema.Resolved) (in In, err error) {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	if len(data) > maxArguments {
		return in, fmt.Errorf("the arguments have %d bytes; at most %d are taken", len(data), maxArguments)
	}
	o, err := jsonobj.Parse(data)
	if err != nil {
		return in, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	if twice := o.Duplicates(); len(twice) > 0 {
		return in, fmt.Errorf("argument %s occurs more than once", strings.Join(twice, ", "))
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return in, err
	}
	if err := check.Validate(v); err != nil {
		return in, err
	}
	known := map[string]json.RawMessage{} // encoding/json would accept other spellings too
	for key := range check.Schema().Properties {
		if value, ok := o.Get(key); ok {
			known[key] = value
		}
	}
	if data, err = jsonobj.Marshal(known); err != nil {
		return in, err
	}
	return in, json.Unmarshal(data, &in)
}

// failed is the result of a failed call, with the error for the model.
func failed(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: plain(err)}}}
}

// plain is an error as a model reads it.
func plain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "the call was ended before there was an answer: nothing was allowed"
	}
	return err.Error()
}
