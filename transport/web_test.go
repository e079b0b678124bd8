package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

const webToken = "0123456789abcdef"

func newWeb(t *testing.T, h transport.Host) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(transport.NewWeb(transport.WebOptions{Host: h, Token: webToken, Now: time.Now, Names: []string{"waggle.example"}}))
	t.Cleanup(s.Close)
	return s
}

// knows is a sender that has a token.
func knows(token string) transport.Web {
	return transport.Web{Token: func(*url.URL) (string, error) { return token, nil }, Timeout: deadline}
}

func webAddress(t *testing.T, s *httptest.Server, member string) protocol.Address {
	return address(t, s.URL+"/v1/api/"+member)
}

func TestWebSend(t *testing.T) {
	t.Parallel()
	h := newHost("ann")
	s := newWeb(t, h)
	text := "<b>hello</b> \u2028 \"you\"\n"
	for i := range 3 {
		env := message(fmt.Sprint("m", i), text)
		got, err := knows(webToken).Send(t.Context(), webAddress(t, s, "ann"), env)
		if want := (transport.Receipt{MsgID: env.MsgID, State: transport.Written, Ahead: i}); err != nil || got != want {
			t.Fatalf("receipt %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := knows(webToken).Send(t.Context(), webAddress(t, s, "ann"), message("m1", text)); err != nil || got.Ahead != 1 {
		t.Errorf("the same again: %+v, %v", got, err)
	}
	if es := h.entries(t, "ann"); len(es) != 3 || es[0].Envelope.Text != text {
		t.Errorf("the mailbox holds %d entries", len(es))
	}
	missing := func(err error) bool { var e *transport.NotFoundError; return errors.As(err, &e) }
	refused := func(err error) bool { var e *transport.RefusedError; return errors.As(err, &e) }
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(rw, r, s.URL+"/v1/api/ann", http.StatusTemporaryRedirect)
		}
		fmt.Fprint(rw, "hello")
	}))
	defer elsewhere.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	gone.Close()
	for _, tc := range []struct {
		to, token, id string
		want          func(error) bool
	}{
		{s.URL + "/v1/api/nobody", webToken, "x", missing},
		{s.URL + "/v1/api/a.b", webToken, "x", refused},
		{s.URL + "/v1/api", webToken, "x", missing},
		{s.URL + "/v2/api/ann", webToken, "x", missing},
		{s.URL + "/v1/api/ann", webToken, "", refused},
		{s.URL + "/v1/api/ann", "wrong", "x", refused},
		{s.URL + "/v1/api/ann", "", "x", missing},
		{elsewhere.URL + "/", webToken, "x", missing},
		{elsewhere.URL + "/moved", webToken, "x", missing},
		{"http://" + gone.Addr().String() + "/v1/api/ann", webToken, "x", missing},
		{"http://192.0.2.1/v1/api/ann", webToken, "x", func(err error) bool { return errors.Is(err, transport.ErrPlain) }},
	} {
		if _, err := knows(tc.token).Send(t.Context(), address(t, tc.to), message(tc.id, "hello")); !tc.want(err) {
			t.Errorf("%s with %q: %v", tc.to, tc.token, err)
		}
	}
	if n := len(h.entries(t, "ann")); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

// TestWebRefusals: a request that is not allowed has no effect and is recorded once; a body that is
// not a message gets an error.
func TestWebRefusals(t *testing.T) {
	t.Parallel()
	h := newHost("ann")
	s := newWeb(t, h)
	good := `{"from":"bob","text":"hello","msg_id":"1"}`
	bearer := "Bearer " + webToken
	denied := 0
	for _, tc := range []struct {
		name, method, path, body string
		header                   map[string]string
		want                     int
		code                     string
	}{
		{"no token", "POST", "/v1/api/ann", good, map[string]string{"Authorization": ""}, 401, "denied"},
		{"empty token", "POST", "/v1/api/ann", good, map[string]string{"Authorization": "Bearer "}, 401, "denied"},
		{"wrong token", "POST", "/v1/api/ann", good, map[string]string{"Authorization": bearer + "0"}, 401, "denied"},
		{"basic", "POST", "/v1/api/ann", good, map[string]string{"Authorization": "Basic " + webToken}, 401, "denied"},
		{"token in the URL", "POST", "/v1/api/ann?token=" + webToken, good, map[string]string{"Authorization": ""}, 401, "denied"},
		{"a web page", "POST", "/v1/api/ann", good, map[string]string{"Origin": "http://127.0.0.1"}, 401, "denied"},
		{"a rebound name", "POST", "/v1/api/ann", good, map[string]string{"Host": "evil.example"}, 401, "denied"},
		{"elsewhere without token", "GET", "/", "", map[string]string{"Authorization": ""}, 401, "denied"},

		{"our name", "POST", "/v1/api/ann", good, map[string]string{"Host": "waggle.example:1"}, 200, ""},
		{"a form", "POST", "/v1/api/ann", good, map[string]string{"Content-Type": "text/plain"}, 400, "invalid"},
		{"GET", "GET", "/v1/api/ann", "", nil, 404, "not_found"},
		{"no such path", "POST", "/v1/api", good, nil, 404, "not_found"},
		{"traversal", "POST", "/v1/api/..%2f..%2fann", good, nil, 400, "invalid"},
		{"no body", "POST", "/v1/api/ann", "", nil, 400, "invalid"},
		{"a list", "POST", "/v1/api/ann", "[" + good + "]", nil, 400, "invalid"},
		{"not UTF-8", "POST", "/v1/api/ann", "{\"from\":\"\xff\"}", nil, 400, "invalid"},
		{"two bodies", "POST", "/v1/api/ann", good + good, nil, 400, "invalid"},
		{"no msg_id", "POST", "/v1/api/ann", `{"from":"bob","text":"hello"}`, nil, 400, "invalid"},
		{"too large", "POST", "/v1/api/ann", strings.Repeat(" ", 7<<20), nil, 413, "too_large"},
		{"too large a text", "POST", "/v1/api/ann", `{"from":"bob","msg_id":"2","text":"` + strings.Repeat("x", 1<<20+1) + `"}`, nil, 413, "too_large"},
		{"nobody", "POST", "/v1/api/eve", good, nil, 404, "not_found"},
		{"another under its id", "POST", "/v1/api/ann", `{"from":"bob","text":"bye","msg_id":"1"}`, nil, 422, "refused"},
	} {
		req, err := http.NewRequest(tc.method, s.URL+tc.path, strings.NewReader(tc.body))
		testenv.Must(t, err)
		req.Header.Set("Authorization", bearer)
		req.Header.Set("Content-Type", "application/json")
		for k, v := range tc.header {
			req.Header.Set(k, v)
			if k == "Host" {
				req.Host = v
			}
		}
		res, err := http.DefaultClient.Do(req)
		testenv.Must(t, err)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tc.want || tc.code != "" && !strings.Contains(string(body), `"code":"`+tc.code+`"`) {
			t.Errorf("%s: %d %s %v, want %d %s", tc.name, res.StatusCode, body, err, tc.want, tc.code)
		}
		if strings.Contains(string(body), webToken) {
			t.Errorf("%s: the token is in the answer", tc.name)
		}
		if tc.code == "denied" {
			denied++
		}
	}
	http.DefaultClient.CloseIdleConnections()
	got := h.refusals(t, denied)
	if len(got) != denied {
		t.Errorf("%d records, want %d", len(got), denied)
	}
	for _, r := range got {
		if r.Peer.Channel != "http" || r.Peer.Remote == "" || strings.Contains(r.String(), webToken) || r.At != "/" && r.Team != "api" {
			t.Errorf("record %+v", r)
		}
	}
	if es := h.entries(t, "ann"); len(es) != 1 || es[0].Envelope.Timestamp == "" {
		t.Errorf("%d entries", len(es))
	}
}

// TestServeWeb: ServeWeb ends after the requests that are being answered.
func TestServeWeb(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	begun, goOn := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- transport.ServeWeb(ctx, ln, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			close(begun)
			<-goOn
			fmt.Fprint(rw, "done")
		}), "", "")
	}()
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := http.Get("http://" + ln.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "done" {
			t.Errorf("%q, %v", body, err)
		}
	})
	<-begun
	cancel()
	close(goOn)
	wg.Wait()
	testenv.Must(t, <-served)
	http.DefaultClient.CloseIdleConnections()
	if err := transport.ServeWeb(t.Context(), ln, http.NotFoundHandler(), "", ""); err == nil {
		t.Error("a closed listener was served")
	}
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for addr, ok := range map[string]bool{"127.0.0.1:0": true, "[::1]:80": true, "localhost:1": true, "0.0.0.0:1": false, ":80": false, "192.0.2.1:1": false, "x": false, "": false} {
		if err := transport.CheckListen(addr, false); (err == nil) != ok {
			t.Errorf("%q: %v", addr, err)
		}
	}
	testenv.Must(t, transport.CheckListen("0.0.0.0:1", true))
}

// TestWebOrigins: a request with an Origin comes from a web page, also when the first Origin is
// empty.
func TestWebOrigins(t *testing.T) {
	t.Parallel()
	h := transport.NewWeb(transport.WebOptions{Token: webToken, Now: time.Now, Host: newHost("ann")})
	for _, list := range [][]string{{"https://evil.example"}, {"", "https://evil.example"}, {""}} {
		ln := listen(t, h)
		c, err := net.Dial("tcp", ln)
		testenv.Must(t, err)
		req := "GET / HTTP/1.1\r\nHost: " + ln + "\r\nAuthorization: Bearer " + webToken + "\r\nConnection: close\r\n"
		for _, o := range list {
			req += "Origin: " + o + "\r\n"
		}
		if _, err := c.Write([]byte(req + "\r\n")); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if c.Close(); err != nil || !strings.Contains(line, "401") {
			t.Errorf("%q: %q %v", list, line, err)
		}
	}
}

// TestIdleConnections: connections that send nothing do not block others.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	ln := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for range 300 {
		c, err := net.Dial("tcp", ln)
		testenv.Must(t, err)
		defer c.Close()
		testenv.Must(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + ln + "/")
	testenv.Must(t, err)
	if resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
		t.Error(resp.Status)
	}
}

// TestOldestGoes: of too many silent connections the oldest is ended.
func TestOldestGoes(t *testing.T) {
	t.Parallel()
	state := transport.Impatient()
	var list []net.Conn
	for range 129 {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		state(ours, http.StateNew)
		list = append(list, theirs)
	}
	_ = list[0].SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := list[0].Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the oldest: %v", err)
	}
	_ = list[1].SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := list[1].Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the next: %v", err)
	}
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- transport.ServeWeb(ctx, ln, h, "", "") }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

func address(t *testing.T, s string) protocol.Address {
	t.Helper()
	a, err := protocol.ParseAddress(s)
	testenv.Must(t, err)
	return a
}

func TestRouter(t *testing.T) {
	t.Parallel()
	box := mailbox.NewMemory(mailbox.Options{})
	missing := errors.New("no such member")
	r := transport.Router{protocol.SchemeMember: transport.Mailboxes{Open: func(_ context.Context, to protocol.Address) (mailbox.Store, error) {
		if to.Member != "ann" {
			return nil, missing
		}
		return box, nil
	}}}
	for ahead := range 3 {
		env := protocol.Envelope{From: "bob", Text: "hello", MsgID: fmt.Sprint("m", ahead)}
		got, err := r.Send(t.Context(), address(t, "ann"), env)
		if want := (transport.Receipt{MsgID: env.MsgID, State: transport.Written, Ahead: ahead}); err != nil || got != want {
			t.Errorf("receipt %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := r.Send(t.Context(), address(t, "ann"), protocol.Envelope{From: "bob", Text: "hello", MsgID: "m1"}); err != nil {
		t.Errorf("the same message again: %v", err)
	}
	if _, err := r.Send(t.Context(), address(t, "eve"), protocol.Envelope{}); !errors.Is(err, missing) {
		t.Errorf("a member that is not there: %v", err)
	}
	for _, to := range []string{"uds:/run/x.sock", "bridge:1", "http://127.0.0.1:1/", "*"} {
		_, err := r.Send(t.Context(), address(t, to), protocol.Envelope{})
		if scheme, ok := errors.AsType[*transport.SchemeError](err); !ok || scheme.Scheme != address(t, to).Scheme || !strings.HasSuffix(err.Error(), "only to: member") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if entries, err := box.Entries(t.Context()); err != nil || len(entries) != 3 {
		t.Errorf("%d entries, %v, want 3", len(entries), err)
	}
}

func ExampleRouter() {
	ctx := context.Background()
	box := mailbox.NewMemory(mailbox.Options{})
	r := transport.Router{protocol.SchemeMember: transport.Mailboxes{
		Open: func(context.Context, protocol.Address) (mailbox.Store, error) { return box, nil },
	}}
	to, err := protocol.ParseAddress("ann@api")
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := r.Send(ctx, to, protocol.Envelope{From: "bob", Text: "the tests are green", MsgID: "1"})
	fmt.Println(receipt.State, receipt.Ahead, err)
	// Output: written 0 <nil>
}
