package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"waggle/protocol"
)

// WebOptions are the settings of an HTTP endpoint. Host, Token and Now are
// required.
type WebOptions struct {
	Host  Host
	Token string
	Now   func() time.Time
	// Names are host names and addresses, besides those of the loopback, under which
	// the endpoint is reached. A request that names another is refused: a web page
	// can point a name of its own at a loopback address.
	Names []string
}

// web answers POST /v1/TEAM/MEMBER.
type web struct {
	o    WebOptions
	once once
	rec  recorder
	busy chan struct{} // a place for each request that is being answered
}

// NewWeb returns an HTTP endpoint: a client with the token may POST an envelope to /v1/TEAM/MEMBER
// and gets a response when it is in that member's mailbox. Any other request has no effect and is
// recorded. It may be mounted beside other handlers.
func NewWeb(o WebOptions) http.Handler {
	w := &web{o: o, rec: recorder{host: o.Host, now: o.Now}, busy: make(chan struct{}, maxSessions)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/{team}/{member}", w.post)
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if w.admit(rw, r) {
			fail(rw, CodeNotFound, "POST an envelope to /v1/TEAM/MEMBER")
		}
	})
	return mux
}

// admit refuses who has no business here.
func (w *web) admit(rw http.ResponseWriter, r *http.Request) bool {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	why := ""
	switch {
	case len(r.Header.Values("Origin")) > 0: // also an empty one before another
		why = "it comes from a web page"
	case !w.named(r.Host):
		why = "it names another host"
	case !bearer || token == "":
		why = "it had no token"
	case !sameToken(strings.TrimSpace(token), w.o.Token):
		why = "its token is not this endpoint's"
	default:
		return true
	}
	team, err := protocol.ParseTeam(r.PathValue("team"))
	if err != nil {
		team = ""
	}
	fail(rw, CodeDenied, "this endpoint needs its token: "+why)
	w.rec.refused(r.Context(), Refusal{Peer: Peer{Channel: "http", UID: -1, Remote: r.RemoteAddr}, Team: team, At: shortened(r.URL.Path), Why: why})
	return false
}

// shortened is the beginning of a text of an unknown peer for the record.
func shortened(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxFrom)], "?") }

func (w *web) named(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return isLoopback(host) || slices.ContainsFunc(w.o.Names, func(n string) bool { return strings.EqualFold(n, host) })
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// post handles one message.
func (w *web) post(rw http.ResponseWriter, r *http.Request) {
	if !w.admit(rw, r) {
		return
	}
	select {
	case w.busy <- struct{}{}:
		defer func() { <-w.busy }()
	default:
		fail(rw, CodeBusy, "there are too many requests: try again")
		return
	}
	receipt, err := w.take(rw, r)
	if err != nil {
		fail(rw, codeOf(err), err.Error())
		return
	}
	respond(rw, http.StatusOK, webReply{receipt.MsgID, receipt.State, receipt.Ahead})
}

func (w *web) take(rw http.ResponseWriter, r *http.Request) (Receipt, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return Receipt{}, &CallError{CodeInvalid, "the body must be application/json"}
	}
	to := protocol.Address{Scheme: protocol.SchemeMember}
	var err error
	if to.Team, err = protocol.ParseTeam(r.PathValue("team")); err != nil {
		return Receipt{}, &CallError{CodeInvalid, err.Error()}
	}
	if to.Member, err = protocol.ParseMember(r.PathValue("member")); err != nil {
		return Receipt{}, &CallError{CodeInvalid, err.Error()}
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxFrame))
	if errors.As(err, new(*http.MaxBytesError)) {
		return Receipt{}, &CallError{CodeTooLarge, fmt.Sprintf("a body may have %d bytes", maxFrame)}
	}
	if err != nil {
		return Receipt{}, err
	}
	if !utf8.Valid(body) {
		return Receipt{}, &CallError{CodeInvalid, "the body is not UTF-8"}
	}
	a, err := parseMessage(body, w.o.Now())
	if err != nil {
		return Receipt{}, err
	}
	return w.once.take(r.Context(), w.o.Host, Peer{Channel: "http", UID: -1, Remote: r.RemoteAddr}, to, a)
}

// webReply is the answer to a message that was taken.
type webReply struct {
	MsgID string `json:"msg_id"`
	State State  `json:"state"`
	Ahead int    `json:"ahead"`
}

// webError is the answer to one that was not.
type webError struct {
	Error webErrorBody `json:"error"`
}

type webErrorBody struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// statuses are the HTTP statuses of the codes.
var statuses = map[Code]int{
	CodeDenied: http.StatusUnauthorized, CodeInvalid: http.StatusBadRequest, CodeNotFound: http.StatusNotFound, CodeRefused: http.StatusUnprocessableEntity,
	CodeTooLarge: http.StatusRequestEntityTooLarge, CodeLocked: http.StatusLocked, CodeBusy: http.StatusServiceUnavailable, CodeFailed: http.StatusInternalServerError,
}

func fail(rw http.ResponseWriter, code Code, message string) {
	if code == CodeDenied {
		rw.Header().Set("WWW-Authenticate", `Bearer realm="waggle"`)
	}
	respond(rw, statuses[code], webError{webErrorBody{code, message}})
}

func respond(rw http.ResponseWriter, status int, v any) {
	b, err := line(v)
	if err != nil {
		status, b = http.StatusInternalServerError, nil
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	rw.WriteHeader(status)
	_, _ = rw.Write(b) // a client that hung up needs no response
}

// Limits of an HTTP server, and how long it waits at its end for what it is doing.
const (
	webHeaderTimeout = 5 * time.Second
	webTimeout       = 30 * time.Second
	webIdle          = 2 * time.Minute
	webClose         = 5 * time.Second
)

// ServeWeb serves a handler on a listener until ctx ends, gives running requests a moment to end,
// and returns. certFile and keyFile may be "": then it speaks plain HTTP, which is for the loopback
// only.
func ServeWeb(ctx context.Context, ln net.Listener, h http.Handler, certFile, keyFile string) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: webHeaderTimeout, ReadTimeout: webTimeout, WriteTimeout: webTimeout, IdleTimeout: webIdle, MaxHeaderBytes: 16 << 10, ConnState: Impatient()}
	var wg sync.WaitGroup
	defer wg.Wait()
	ended := make(chan error, 1)
	wg.Go(func() {
		if certFile != "" {
			ended <- server.ServeTLS(ln, certFile, keyFile)
			return
		}
		ended <- server.Serve(ln)
	})
	select {
	case err := <-ended:
		return fmt.Errorf("http endpoint: %w", errors.Join(err, server.Close()))
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), webClose)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return server.Close()
	}
	return nil
}

// CheckListen refuses a listening address that others than this machine reach,
// unless what is said there is encrypted.
func CheckListen(addr string, encrypted bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s is not an address with a port, such as 127.0.0.1:0", addr)
	}
	if !isLoopback(host) && !encrypted {
		return fmt.Errorf("%s can be reached from other machines: it needs a certificate and its key", addr)
	}
	return nil
}

// parseWebError reads webError; ok is false when it is something else.
func parseWebError(body []byte) (e webErrorBody, ok bool) {
	f, err := parseFields(body)
	if err != nil {
		return e, false
	}
	e, err = parse[webErrorBody](f["error"])
	return e, err == nil && e.Code != ""
}

// parseWebReply reads webReply; ok is false when it is something else.
func parseWebReply(body []byte) (r Receipt, ok bool) {
	got, err := parse[webReply](body)
	return Receipt{MsgID: got.MsgID, State: got.State, Ahead: got.Ahead}, err == nil && got.State != ""
}

// maxSilent is how many connections may be open that have sent no request yet.
const maxSilent = 128

// Impatient is the ConnState of an http.Server that limits idle connections: when a
// new connection finds maxSilent of them, the oldest connection without a request is
// closed, so that idle clients cannot block others.
func Impatient() func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	var silent []net.Conn // oldest first
	return func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		silent = slices.DeleteFunc(silent, func(have net.Conn) bool { return have == c })
		if s != http.StateNew && s != http.StateIdle {
			return
		}
		silent = append(silent, c)
		if len(silent) > maxSilent {
			_ = silent[0].Close() // its goroutine finds out, and is counted down
			silent = silent[1:]
		}
	}
}
