package claude_test

import (
	"bytes"
	"errors"
	"testing"

	"waggle/internal/claude"
	"waggle/internal/json/jsonobj"
)

// Any line decodes as a frame or an error. The input of a frame is the bytes in the line, and a frame
// that wants an answer names its request.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"a"},"tool_use_id":"t"}}`,
		`{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"no"}}`,
		`{"type":"result","subtype":"success","is_error":true,"total_cost_usd":1e308,"usage":{"input_tokens":-1}}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e300}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash"},1,null]}}`,
		`{"type":"system","subtype":"init","session_id":"s"}`, `{"type":"control_cancel_request"}`, `[]`, `{}`, `{"type":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := claude.Decode(line)
		if (frame == nil) == (err == nil) {
			t.Fatalf("%v, %v", frame, err)
		}
		switch x := frame.(type) {
		case claude.Asked:
			if x.ID == "" || x.Input != nil && (!bytes.Contains(line, x.Input) || jsonobj.TypeOf(x.Input) != "object") {
				t.Errorf("%+v", x)
			}
		case claude.Answered:
			if x.ID == "" {
				t.Errorf("%+v", x)
			}
		case claude.Ended:
			if x.Tokens.Total() < 0 || x.USD != nil && *x.USD < 0 {
				t.Errorf("%+v", x)
			}
		case claude.Limited:
			if y := x.Until.Year(); !x.Until.IsZero() && (y < 1970 || y > 300000) {
				t.Errorf("%v", x.Until)
			}
		}
	})
}

// A stream gives the same frames however it is cut, and a line without an end is bounded.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"type\":\"a\"}\n\n{\"type\":\"b\"}\r\nx"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		whole := claude.CutLines(t, data)
		cut = max(0, min(cut, len(data)))
		if parts := claude.CutLines(t, data[:cut], data[cut:]); !bytes.Equal(bytes.Join(whole, []byte("\n")), bytes.Join(parts, []byte("\n"))) {
			t.Errorf("%q and %q", whole, parts)
		}
	})
}

// A line that never ends ends the client, and uses no more memory than its bound.
func TestLongLine(t *testing.T) {
	_, err := claude.WriteLines(bytes.Repeat([]byte("x"), claude.MaxLine), []byte("x"))
	var long *claude.LongLineError
	if !errors.As(err, &long) {
		t.Error(err)
	}
}
