package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"waggle/protocol"
)

// Web sends to http and https addresses: a POST of the envelope to a waggle endpoint of another
// process. It follows no redirect and uses no proxy, and sends its token only to the address that
// it belongs to.
type Web struct {
	// Token returns the token for an endpoint; "" when there is none.
	Token func(*url.URL) (string, error)
	// Timeout is how long one message may take; 0 means 30 s.
	Timeout time.Duration
}

var _ Sender = Web{}

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10

// ErrPlain refuses to say a token in clear to another machine.
var ErrPlain = errors.New("a token is not sent in clear to another machine: use https")

// Send implements Sender.
func (s Web) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error) {
	u, err := url.Parse(to.Target)
	if err != nil {
		return Receipt{}, err
	}
	if u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return Receipt{}, fmt.Errorf("%s: %w", to, ErrPlain)
	}
	token, err := s.Token(u)
	if err != nil {
		return Receipt{}, err
	}
	if token == "" {
		return Receipt{}, &NotFoundError{To: to, Why: "no endpoint of this user is there, so there is no token for it", Hint: "give its token in WAGGLE_TOKEN"}
	}
	body, err := compact(to, env)
	if err != nil {
		return Receipt{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, webTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Receipt{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	pipe := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer}
	defer pipe.CloseIdleConnections()
	c := &http.Client{Transport: pipe, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Receipt{}, &NotFoundError{To: to, Why: "nobody answers there", Missing: MissingEndpoint}
	case err != nil:
		return Receipt{}, fmt.Errorf("%s: %w", to, err)
	}
	defer res.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return Receipt{}, fmt.Errorf("%s: %w", to, err)
	}
	if e, ok := parseWebError(answered); ok && res.StatusCode >= 400 {
		return Receipt{}, answer(to, e.Code, e.Message)
	}
	if r, ok := parseWebReply(answered); ok && res.StatusCode == http.StatusOK {
		return r, nil
	}
	return Receipt{}, &NotFoundError{To: to, Why: fmt.Sprintf("the server there is not a waggle endpoint (HTTP %d)", res.StatusCode), Hint: "an endpoint's URL ends in /v1/TEAM/MEMBER"}
}
