package inspect_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"waggle/operator/inspect"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	r := inspect.NewRedactor([]string{"API_KEY=correct-horse", "HOME=/home/someone", "TOKEN=short", "EMPTY_SECRET="})
	for in, want := range map[string]string{
		"echo correct-horse":                                                 "echo [redacted]",
		"cd /home/someone; echo short":                                       "cd /home/someone; echo short",
		"curl -H 'Authorization: Bearer abcdefgh12345'":                      "curl -H 'Authorization: Bearer [redacted]'",
		"mysql --password hunter2 db":                                        "mysql --password [redacted] db",
		"PASSWORD=hunter2 ./run":                                             "PASSWORD=[redacted] ./run",
		`{\"api_key\":\"abc\"}`:                                              `{\"api_key\":\"[redacted]\"}`,
		"git clone https://me:hunter2@example.com/x.git":                     "git clone https://me:[redacted]@example.com/x.git",
		"ghp_012345678901234567890123":                                       "[redacted]",
		"AKIAABCDEFGHIJKLMNOP and text":                                      "[redacted] and text",
		"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\nrest": "[redacted]\nrest",
		"go test ./... -run TestToken":                                       "go test ./... -run TestToken",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	in := `{"input":"{\"command\":\"x\",\"token\":\"abc def\"}","secret":"s","n":9007199254740993,"list":["correct-horse",{"passwd":"p"}],"ok":"<&>"}`
	want := `{"input":"{\"command\":\"x\",\"token\":\"[redacted]\"}","list":["[redacted]",{"passwd":"[redacted]"}],"n":9007199254740993,"ok":"<&>","secret":"[redacted]"}`
	if got := string(r.JSON(json.RawMessage(in))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := string(r.JSON(json.RawMessage("{"))); got != `"[redacted]"` {
		t.Errorf("what cannot be read becomes %s", got)
	}
}

const (
	letters = "AbCdEfGhIjKlMnOpQrStUvWx"
	hexes   = "0123456789abcdef0123456789abcdef"
)

// secretSamples are one text or more for each kind of secret; "<" and ">" enclose what must not be readable, and "¦" is
// left out: programs that look for secrets in sources find none here.
var secretSamples = map[string][]string{
	"aws":                            {"<AK¦IA" + "ABCDEFGHIJKLMNOP>"},
	"github":                         {"<gh¦s_" + letters + ">"},
	"github fine-grained":            {"<github¦_pat_" + letters + "_" + letters + ">"},
	"gitlab":                         {"<gl¦pat-" + letters + ">", "<gl¦rt-" + letters + ">"},
	"openai, anthropic":              {"<s¦k-ant-api03-" + letters + ">", "key:<s¦k-proj-" + letters + ">"},
	"stripe":                         {"<s¦k_live_51" + letters + ">", "<r¦k_test_51" + letters + ">"},
	"webhook secret":                 {"<wh¦sec_" + letters + "=>"},
	"slack":                          {"<xo¦xb-1234567890-" + letters + ">", "<xo¦xe.xoxp-1-" + letters + ">"},
	"slack app":                      {"<xa¦pp-1-A012-" + letters + ">"},
	"telegram":                       {"bot<1234567890:A¦A" + letters + "012345678>", "<1234567890:A¦A" + letters + "012345678>"},
	"google api key":                 {"<AI¦za" + letters + "0123456789>"},
	"google oauth":                   {"<ya¦29." + letters + ">"},
	"google client secret":           {"<GOC¦SPX-" + letters + ">"},
	"google refresh":                 {"<1¦//0" + letters + "0123456789>"},
	"npm":                            {"<np¦m_" + letters + "0123456789>"},
	"pypi":                           {"<py¦pi-AgEIcHlwaS5vcmc" + letters + ">"},
	"rubygems":                       {"<ruby¦gems_" + hexes + "0123456789abcdef>"},
	"crates.io":                      {"<ci¦o" + letters + "01234567>"},
	"docker hub":                     {"<dc¦kr_pat_" + letters + ">"},
	"hugging face":                   {"<h¦f_" + letters + "0123456789>"},
	"replicate":                      {"<r¦8_" + letters + "0123456789>"},
	"groq":                           {"<gs¦k_" + letters + letters + ">"},
	"xai":                            {"<xa¦i-" + letters + letters + ">"},
	"perplexity":                     {"<pp¦lx-" + letters + letters + ">"},
	"sendgrid":                       {"<S¦G." + letters + "." + letters + "01234567890123456>"},
	"twilio":                         {"<S¦K" + hexes + ">"},
	"mailchimp":                      {"<" + hexes + "¦-us12>"},
	"azure client secret":            {"<abc8¦Q~" + letters + "0123456>"},
	"digitalocean":                   {"<do¦p_v1_" + hexes + hexes + ">"},
	"shopify":                        {"<sh¦pat_" + hexes + ">"},
	"square":                         {"<sq¦0atp-" + letters + ">"},
	"atlassian":                      {"<AT¦ATT3xFf" + letters + ">"},
	"linear":                         {"<li¦n_api_" + letters + "0123456789>"},
	"notion":                         {"<nt¦n_" + letters + letters + ">"},
	"figma":                          {"<fi¦gd_" + letters + "0123456789>"},
	"postman":                        {"<PM¦AK-0123456789abcdef01234567-0123456789abcdef0123456789abcdef01>"},
	"vault":                          {"<hv¦s." + letters + ">"},
	"terraform":                      {"<abcdefghij0123.at¦lasv1." + letters + letters + ">"},
	"pulumi":                         {"<pu¦l-" + hexes + "01234567>"},
	"grafana":                        {"<gl¦sa_" + letters + "01234567_89abcdef>", "<gl¦c_" + letters + "0123456789>"},
	"new relic":                      {"<NR¦AK-ABCDEFGHIJKLMNOPQRSTUVWXYZA>"},
	"sentry":                         {"<snt¦rys_" + letters + "0123456789>"},
	"databricks":                     {"<da¦pi" + hexes + "-2>"},
	"doppler":                        {"<dp¦.pt." + letters + letters + ">"},
	"planetscale":                    {"<psca¦le_tkn_" + letters + "0123456789>"},
	"supabase":                       {"<sb¦p_" + hexes + "01234567>", "<sb¦_secret_" + letters + ">"},
	"fly":                            {"FlyV1 <fm¦2_" + letters + "0123456789>"},
	"tailscale":                      {"<ts¦key-auth-" + letters + ">"},
	"age":                            {"<AGE¦-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ>"},
	"jwt":                            {"<ey¦JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + letters + ">"},
	"private key":                    {"<-----BEGIN OPENSSH PRIVATE ¦KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY----->\nrest", "<-----BEGIN PGP PRIVATE ¦KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----> rest", "<-----BEGIN RSA PRIVATE ¦KEY-----\\nMIIE and no end>"},
	"assigned in double quotes":      {`PASSWORD="<two words>" ./run`, `{\"client_secret\":\"<two words>\"}`, `encryption_key = "<k>"`},
	"assigned in single quotes":      {`passphrase='<two words>' ./run`},
	"assigned":                       {"PGPASSWORD=<hunter2> psql", "DJANGO_SECRET_KEY=<a$b>", "SECRET_KEY_BASE=<0a1b>", "MYSQL_PWD=<hunter2> mysql", "AccountName=x;AccountKey=<a/b+c==>;EndpointSuffix=core", "SharedAccessKey=<a/b+c==>", "aws_secret_access_key = <a/b+c>", "X-Api-Key: <abc>", "//registry.npmjs.org/:_authToken=<abc>"},
	"option":                         {"deploy --api-key <abc> --now", `tool --passphrase "<abc>"`},
	"connection string":              {"Server=db;User Id=sa;Pwd=<hunter2>;", "server=db;uid=sa;pwd=<hunter2>"},
	"authorization header":           {"curl -H 'Authorization: token <abc>'", `"authorization": "Basic <dXNlcjpwYXNz>"`, `{\"Authorization\":\"Digest <abc>\"}`},
	"authorization without a scheme": {"authorization: <" + letters + ">"},
	"bearer":                         {"it sends bearer <abcdefgh12345> there", "Proxy: Basic <dXNlcjpwYXNz>"},
	"docker auth":                    {`{"auths":{"r.example":{"auth":"<dXNlcjpwYXNz>"}}}`, `{\"auth\": \"<dXNlcjpwYXNz>\"}`},
	"npm auth":                       {"_auth=<dXNlcjpwYXNz>", "//r.example/:_auth = <dXNlcjpwYXNz>"},
	"url password":                   {"postgres://app:<p@ss>@db.example:5432/x?sslmode=off", "redis://:<hunter2>@h/0", "https://x-access-token:<abc>@github.com/a/b.git", "mongodb+srv://u:<p%2Fw>@c.example/d"},
	"url token":                      {"https://<0123456789abcdef01234567>@sentry.example/4", "git clone https://<" + letters + ">@github.com/a/b.git"},
	"url signature":                  {"https://x.blob.example/c?sv=2024&sig=<a%2Fb%3D>&se=1", "https://s3.example/o?X-Amz-Signature=<" + hexes + ">"},
	"database address":               {"app:<hunter2>@tcp(db:3306)/x"},
	"slack webhook":                  {"https://hooks.slack.com/services/<T0/B0/" + letters + ">"},
	"discord webhook":                {"https://discord.com/api/webhooks/<1234/" + letters + ">", "https://discordapp.com/api/v10/webhooks/<1/" + letters + ">"},
	"office webhook":                 {"https://x.webhook.office.com/<webhookb2/a@b/IncomingWebhook/c/d>"},
	"curl user":                      {"curl -u admin:<Pa55w0rdX1> https://db.example.org", "curl -su 'admin:<two:parts>' https://x", "curl https://x --user=me@x.example:<hunter2>", "http -a me:<hunter2> x.example"},
	"curl proxy user":                {"curl -U me:<hunter2> -x p:1 https://x", "curl -u me:<one> --proxy-user p:<two> https://x"},
	"registry login":                 {"docker login -u me -p <hunter2> r.example", "helm registry login r.example -u me -p=<hunter2>"},
	"mysql":                          {"mysql -uroot -p<hunter2> db", "mysqldump -h db -p'<hunter2>' db"},
	"sshpass":                        {"sshpass -p <hunter2> ssh a@b", "sshpass -p'<hunter2>' ssh a@b"},
	"netrc":                          {"machine x.example login me password <hunter2>"},
	"aws configure":                  {"aws configure set aws_secret_access_key <a/b+c>"},
}

// TestRedactorKinds: each kind of secret is masked wherever it stands in a text, alone or in JSON, and the rest is readable.
func TestRedactorKinds(t *testing.T) {
	t.Parallel()
	r := inspect.NewRedactor(nil)
	kinds := inspect.SecretKinds()
	for kind, samples := range secretSamples {
		if !slices.Contains(kinds, kind) {
			t.Errorf("samples of %q, which is no kind", kind)
		}
		for _, s := range samples {
			s = strings.ReplaceAll(s, "¦", "")
			in := strings.NewReplacer("<", "", ">", "").Replace(s)
			want := ""
			for i, part := range strings.Split(s, "<") {
				if before, after, ok := strings.Cut(part, ">"); i > 0 && ok && before != "" {
					part = inspect.Redacted + after
				}
				want += part
			}
			for _, around := range [][2]string{{"", ""}, {"it is ", " here"}} {
				if strings.HasSuffix(s, "no end>") && around[1] != "" {
					continue // a key without an end reaches to the end of the text
				}
				if got := r.Text(around[0] + in + around[1]); got != around[0]+want+around[1] {
					t.Errorf("%s: %q becomes %q, want %q", kind, around[0]+in+around[1], got, around[0]+want+around[1])
				}
			}
		}
	}
	for _, kind := range kinds {
		if len(secretSamples[kind]) == 0 {
			t.Errorf("no sample of %q", kind)
		}
	}
	if got := string(r.JSON(json.RawMessage(`{"auths":{"x":{"auth":"dXNlcjpwYXNz"}},"auth":"none"}`))); got != `{"auth":"none","auths":{"x":{"auth":"[redacted]"}}}` {
		t.Errorf("docker's file becomes %s", got)
	}
}

// TestRedactorReadable: ordinary words, hashes, ids, paths, addresses and commands stay readable.
func TestRedactorReadable(t *testing.T) {
	t.Parallel()
	r := inspect.NewRedactor([]string{"HOME=/home/someone"})
	for _, s := range []string{
		"commit 4b8e9b30123456789abcdef0123456789abcdef0", "sha256:" + hexes + hexes, "md5 " + hexes,
		"0c0ffee0-1111-4222-8333-444455556666", "request perm-1795193430835-yzbvsed of plan_approval-1795195332406@w1@ours", "7KQF",
		"/home/me/src/github.com/a/task-list-of-the-whole-team/desk-report-2026-11-22.md", "disk-usage-of-each-directory task-0123456789abcdef0123",
		"internal/claude/session/hf_hub_download_with_retries.go", "npm_config_registry_with_a_long_name=x", "MSG.ProtocolBufferMessage1.ProtocolBufferMessage2",
		"basic authentication and bearer credentials: see docs", "Authorization: required", "the authorization of internal operators",
		"docker run -u 1000:1000 -p 8080:80 node:22", "docker login r.example", "curl -u me https://x.example:8080/a", "mysql -h db -p --port 1", "git push -u origin main:main",
		"git clone git@github.com:a/b.git", "ssh://git@github.com/a/b.git", "https://x.example:8080/a@b?c=d:e@f", "https://user@x.example/", "mail me@example.com: hello",
		"max_tokens: 4096, output_tokens=12", "go test ./... -run TestToken -count=1", "cd /x; PWD=/home/me make", "key=value cache_key=abc primary_key: id",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "the login page has a password field",
		"2026-11-20T16:49:40.914Z took 1234567890:AB", "SKIP SG.1.2 sk-short pk_live_" + letters, "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}
