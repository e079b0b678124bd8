package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"waggle/internal/face/bridge"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "correct horse"

// wait is far longer than any step of these tests takes.
const wait = 30 * time.Second

// desk is a team in memory.
type desk struct {
	mu      sync.Mutex
	mail    map[string][]mail.InboxEntry
	view    bridge.View
	answers []decide.Answer
	sent    []string
	refuse  error
}

func (d *desk) Team() string { return "api" }

func (d *desk) Register(_ context.Context, id string) (bridge.Mail, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == "" {
		return nil, &operator.Error{Kind: operator.Usage, Msg: "no id"}
	}
	if d.mail == nil {
		d.mail = map[string][]mail.InboxEntry{}
	}
	return box{d, id}, nil
}

func (d *desk) Look(context.Context) (bridge.View, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.view
	v.Pending = slices.Clone(d.view.Pending)
	return v, nil
}

func (d *desk) Decide(_ context.Context, a decide.Answer) (decide.Decided, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return decide.Decided{}, d.refuse
	}
	d.answers = append(d.answers, a)
	d.view.Pending = []decide.Request{}
	return decide.Decided{ID: a.ID, Decision: map[bool]string{true: "allow", false: "deny"}[a.Allow], Changed: true}, nil
}

func (d *desk) Send(_ context.Context, to, text string) ([]mail.Sent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, to+": "+text)
	return []mail.Sent{{To: to, State: "written"}}, nil
}

// put lays a message into an editor's mailbox.
func (d *desk) put(id string, e mail.InboxEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mail[id] = append(d.mail[id], e)
}

func (d *desk) set(change func(*bridge.View)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.view)
}

type box struct {
	d  *desk
	id string
}

func (b box) Unread(context.Context) ([]mail.InboxEntry, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return slices.Clone(b.d.mail[b.id]), nil
}

func (b box) Take(_ context.Context, ids ...string) error {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	b.d.mail[b.id] = slices.DeleteFunc(b.d.mail[b.id], func(e mail.InboxEntry) bool { return slices.Contains(ids, e.ID) })
	return nil
}

// rig is a bridge that answers on this machine.
type rig struct {
	t      *testing.T
	desk   *desk
	bridge *bridge.Bridge
	url    string
}

func newRig(t *testing.T, origins ...string) *rig {
	return newRigWith(t, bridge.Options{Token: token, Origins: origins})
}

func newRigWith(t *testing.T, o bridge.Options) *rig {
	r := &rig{t: t, desk: &desk{view: bridge.View{Pending: []decide.Request{}}}}
	o.Desk, o.Explain = r.desk, explain
	r.bridge = bridge.New(o)
	s := httptest.NewServer(r.bridge)
	t.Cleanup(s.Close)
	r.url = strings.Replace(s.URL, "http:", "ws:", 1)
	return r
}

// explain is a command line that numbers the kinds as they come.
func explain(err error) (code int, hint string) {
	var e *operator.Error
	if errors.As(err, &e) {
		hint = e.Advice
	}
	return int(operator.KindOf(err)), hint
}

// editor is a scripted editor.
type editor struct {
	t    *testing.T
	ws   *websocket.Conn
	last map[string]frame // of each op
}

// frame is any frame that an editor is sent.
type frame map[string]any

func (r *rig) dial(header http.Header, host string) (*editor, int, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), wait)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ws, resp, err := websocket.Dial(ctx, r.url, &websocket.DialOptions{HTTPHeader: header, Host: host, HTTPClient: client})
	if err != nil {
		code := 0
		if resp != nil {
			code = resp.StatusCode
		}
		return nil, code, err
	}
	ws.SetReadLimit(64 << 20)
	r.t.Cleanup(func() { _ = ws.CloseNow() })
	return &editor{r.t, ws, map[string]frame{}}, 0, nil
}

// connect is the editor ed with an accepted connection.
func (r *rig) connect() *editor {
	const id = "ed"
	r.t.Helper()
	e, _, err := r.dial(nil, "")
	testenv.Must(r.t, err)
	e.say(`{"op":"hello","v":1,"token":"` + token + `","id":"` + id + `"}`)
	if f := e.next("welcome"); f["team"] != "api" || f["id"] != id {
		r.t.Fatalf("welcome: %v", f)
	}
	return e
}

func (e *editor) say(text string) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), wait)
	defer cancel()
	testenv.Must(e.t, e.ws.Write(ctx, websocket.MessageText, []byte(text)))
}

// read is the next frame, nil when the connection has ended.
func (e *editor) read() frame {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), wait)
	defer cancel()
	_, data, err := e.ws.Read(ctx)
	if err != nil {
		if ctx.Err() != nil {
			e.t.Fatal("no frame came")
		}
		return nil
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		e.t.Fatalf("%s: %v", data, err)
	}
	op, _ := f["op"].(string)
	e.last[op] = f
	return f
}

// next reads until a frame of that op.
func (e *editor) next(op string) frame {
	e.t.Helper()
	for {
		f := e.read()
		if f == nil {
			e.t.Fatalf("the connection ended before a %s", op)
		}
		if f["op"] == op {
			return f
		}
	}
}
