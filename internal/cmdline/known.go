package cmdline

import (
	"slices"
	"strings"
	"sync"
)

// knownTable is the one list of commands whose effect is known from their words.
// What is not in it is a carrier for deny rules and of RiskHigh.
//
// A line is a risk, the words of the command ("a|b" are two commands) and its
// options:
//
//	-x       an option; letters may stand together behind one dash
//	-x=      an option with a value, which is data
//	-x?      an option with a value that may be left out: --color, --color=auto
//	-x>      an option whose value is a file that is written
//	-x:      an option whose value is text for people: git commit -m
//	-#       a number behind a dash: -20
//	*        every option, and words that are not known before it runs
//	@none    no operand; @one at most one; @plain operands are letters, digits, - _ . : / only
//	@script  at most one plain operand; @literal and @noforce no wildcard; @version one option alone
//	@listed  only with -l or --list; @staged only with --staged; @config a key that is no credential; @ps letters of ps aux
//	@noplus  no operand that begins with +; @noenv none that is env
//	@rest    the first operand begins a command that is judged for itself
//
// "low" reads; "medium" changes the project by the project's own rules; "write"
// is medium while its operands lie inside the working directory; "high" is high
// and runs nothing that its words name. "!" after a risk: the words may still name
// a program that is run, so deny rules look into them. "group" lines give options
// that stand before a subcommand.
const knownTable = `
low  ls|cat|head|tail|grep|egrep|fgrep|zgrep|wc|pwd|echo|true|false|stat|du|df|whoami|id|uname|which|whereis|type *
low  basename|dirname|realpath|readlink|cut|tr|nl|cmp|comm|od|hexdump|strings|diff|sleep|seq|expr|jq *
low  md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|cksum|sum|base64|base32|column|fold|fmt|expand|unexpand|tac|rev|paste|join *
low  uptime|free|nproc|locale|dirs|:|exit|return|break|continue|shift|groups|logname|tty|cal|lscpu|lsblk|numfmt|zcat|tsort|factor *
low  cd|pushd|popd *
low  jobs -l -p -r -s @none
low  hostname -f -s -i -I @none
low  date -u -R -I? -d= -r= --utc --iso-8601? --rfc-3339= --date= --reference=
low  file -b -i -L -k --brief --mime --mime-type --mime-encoding
low  sort -b -d -f -g -h -M -n -R -r -V -k= -t= -u -s -z -c -C -m --reverse --unique --numeric-sort --key= --field-separator= --version-sort --human-numeric-sort --stable --check?
write sort -b -d -f -g -h -M -n -R -r -V -k= -t= -u -s -z -o> --output> --reverse --unique --numeric-sort --key=
low  uniq -c -d -u -i -f= -s= -w= -z --count --repeated --unique --ignore-case @one
low  tree -a -d -f -i -L= -I= -P= -p -s -h -D -F -C -n --dirsfirst --noreport --gitignore --prune
low  rg -i -n -l -c -o -v -w -x -F -P -U -s -S -H -N -p -g= -t= -T= -A= -B= -C= -m= -e= -f= -r= -u -L -0 --files --hidden --no-ignore --count --files-with-matches --files-without-match --type= --type-not= --glob= --iglob= --context= --after-context= --before-context= --max-count= --line-number --ignore-case --fixed-strings --only-matching --multiline --json --heading --no-heading --color= --word-regexp --sort= --stats --max-depth= --smart-case --vimgrep --column --type-list --pcre2 --no-messages --max-columns= --invert-match
low  ag -i -l -c -w -Q -G= -A= -B= -C= --hidden --ignore= --nocolor
low  xxd -l= -s= -c= -g= -p -b -u -e @one
low  less|more -N -S -R -F -X -n -i @noplus
low  bat -p -n -l= --plain --paging= --style= --color= --language= --line-range= -r=
low  ps -e -f -A -a -u= -p= -C= -o= --forest --sort= --no-headers @ps
low  pgrep -f -l -a -n -o -u= -x
low  top -b -n=
low  lsof -i? -n -P -p= -t
low  tput|clear
low  cloc|tokei|scc --by-file --json
low  nm|size|readelf -a -h -S -l -C -D -g
low  python|python2|python3|node|nodejs|ruby|perl|rustc|java|javac|gcc|cc|clang|pip|pip3|docker|make|cmake|npx|yarn|deno|bun|tsc|kubectl|terraform|helm|poetry|uv|cargo|npm|pnpm|php|dotnet|gradle|gh|ffmpeg|psql --version -V @version
low  node|nodejs|npm|pnpm|yarn|php -v @version
low  java -version @version

group git -C= --no-pager -P --no-optional-locks --paginate -p --literal-pathspecs
low  git --version --help @version
low  git status -s -b -u? --short --branch --porcelain? --untracked-files? --ignored? --long -v --show-stash -z --column?
low  git log|show|diff|whatchanged|diff-tree|diff-index|range-diff -p -n= -S= -G= -L= -s -u -U= -w -b -z -M -R -a -i -E -F -P -c -m -e -# --oneline --stat? --shortstat --numstat --name-only --name-status --graph --all --decorate? --no-decorate --patch --no-patch --pretty? --format= --abbrev-commit --abbrev? --author= --committer= --since= --until= --after= --before= --grep= --merges --no-merges --first-parent --follow --reverse --date= --cached --staged --word-diff? --color? --no-color --ignore-all-space --ignore-space-change --summary --max-count= --skip= --branches? --tags? --remotes? --check --exit-code --quiet --diff-filter= --relative? --no-renames --unified= --minimal --histogram --no-ext-diff --no-textconv --left-right --cherry-pick --merge-base --topo-order --date-order --compact-summary --dirstat? --raw --text --cc --numbered --email --group=
low  git shortlog -s -n -e -c --numbered --summary --email --since= --no-merges --all
low  git blame|annotate -L= -w -C -M -e -l -s -p --date= --porcelain --since= --show-email
low  git rev-parse --abbrev-ref? --short? --show-toplevel --verify --git-dir --git-common-dir --is-inside-work-tree --symbolic-full-name --show-prefix --absolute-git-dir -q --quiet --symbolic
low  git describe --tags --always --dirty? --long --abbrev= --match= --exact-match --all --first-parent --contains
low  git ls-files -m -o -d -s -c -u -z -t --others --modified --deleted --cached --stage --exclude-standard --ignored --exclude= --error-unmatch --full-name --unmerged
low  git ls-tree -r -d -l -z -t --name-only --full-tree --long --full-name --name-status
low  git cat-file -p -t -s -e
low  git grep -n -i -l -c -w -e= -E -F -P -h -H -v -I -A= -B= -C= -p -q -o --cached --untracked --line-number --name-only --ignore-case --files-with-matches --count --heading --break --and --or --not --fixed-strings --word-regexp --all-match --column --show-function --function-context -W
low  git rev-list -n= -# --count --all --max-count= --merges --no-merges --since= --until= --author= --reverse --first-parent --left-right --objects --parents
low  git merge-base|name-rev|show-ref|for-each-ref|check-ignore|version|var|count-objects|cherry|show-branch|diff-files|check-attr -v -a -q --format= --sort= --is-ancestor --heads --tags --count= --points-at= --merged? --contains= --name-only --all -H --human-readable --octopus --fork-point --no-index
low  git branch -a -r -v -vv -l --list --all --remotes --show-current --verbose --merged? --no-merged? --contains? --sort= --format= --color? --no-color @none
low  git branch --list -l --contains= --merged= --no-merged= -a -r -v @listed
low  git tag -l --list -n? -n= --sort= --contains= --points-at= --merged? @none
low  git tag -l --list -n? --sort= --contains= --points-at= @listed
low  git remote -v --verbose @none
low  git reflog -n= -# --date= @none
low  git reflog show|worktree list|stash list|stash show -n= -# -p --oneline --date= --porcelain --stat --name-only -u --patch
low  git config --get= --get-all= --local --global --system --bool --int @none
low  git config get --all @config
low  git bisect log|submodule status|notes show|lfs ls-files
medium git add -A -u -n -v -N -f --all --update --dry-run --verbose --intent-to-add --force
medium git commit -m: --message: -a -q -v -s -n -F= --file= --amend --no-edit --all --allow-empty --allow-empty-message --signoff --no-verify --fixup= --squash= --author= --date= --quiet --no-gpg-sign --only --include --dry-run --trailer: --reset-author --cleanup=
medium git checkout|switch -b= -c= --detach -q -t --track --no-track --guess --orphan= --quiet --create= @noforce
medium git merge --no-ff --ff-only --ff --squash --no-commit --no-edit -m: --message: --abort --continue -q --quiet --stat
medium git rebase --abort --continue --skip --autosquash --autostash --onto= -q --quiet --no-autosquash --keep-base
medium git cherry-pick|revert -n --no-commit --no-edit --abort --continue --skip --quit -x --mainline=
medium git stash -u -k -q --include-untracked --keep-index --quiet --staged @none
medium git stash push|stash save|stash apply|stash pop|stash create -u -k -q -m: --message: --include-untracked --keep-index --index --quiet --staged --
medium git tag -a -m: --message: --annotate -F=
medium git branch -m -c --move --copy -u= --set-upstream-to= --track? --no-track
medium git mv|apply|init|notes add|am --abort -n -v -k --check --stat -q --quiet -b= --initial-branch= -m: --3way --index --cached -R --continue --skip
medium git reset --soft --mixed -q --quiet @literal
medium git restore --staged -S @staged
medium git worktree add -b= --detach -q

group go -C=
low  go version|list|doc|help -m -f= -json -deps -e -test -u -versions -all -src -short -c -cmd -tags= -mod= -find
low  go env -json -changed
low  go mod graph|mod why -m
medium go mod verify @none
medium go mod init @plain
low  go tool cover -func=
medium go test -v -race -short -count= -run= -skip= -bench= -benchmem -benchtime= -timeout= -tags= -cover -coverprofile> -covermode= -coverpkg= -failfast -json -parallel= -p= -shuffle= -cpu= -list= -fuzz= -fuzztime= -vet= -mod= -trimpath -a -n -x -o> -c -i -cpuprofile> -memprofile> -blockprofile> -mutexprofile> -trace> -fullpath -msan -asan
medium go build|vet|fix -v -race -tags= -mod= -trimpath -a -n -x -p= -o> -json -c= -cover -buildvcs= -buildmode=
medium go fmt -n -x -mod=
medium! go run -race -tags= -mod= -v -x
medium! go generate -v -n -x -run= -skip= -tags=
write gofmt|goimports|gofumpt -l -d -s -w -e -local= -extra
medium staticcheck -tests? -checks= -tags= -f=
medium golangci-lint run --fix --timeout= -v --fast --new --new-from-rev= --timeout= --verbose
medium govulncheck -v

low  npm|pnpm|yarn|bun ls|list|why|explain|root|prefix|bin --depth= -g --all --json --prod --parseable --long
low  npm|pnpm run --json @none
medium npm|pnpm|yarn|bun test|t|run|run-script|start -s --silent --if-present -w= --workspace= --workspaces --prefix= -r --filter= @script
medium! npm|pnpm|yarn|bun test|t|run|run-script|start -s --silent --if-present -w= --workspace= --workspaces @noenv
medium yarn|pnpm|bun build|lint|typecheck|format|check|dev @none
medium cargo build|check|clippy|test|t|b|c|bench|fmt|doc -p= --package= --release -r --all --workspace --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --doc --features= -F= --all-features --no-default-features --all-targets -v -vv -q --quiet --verbose -j= --jobs= --no-run --no-fail-fast --offline --locked --frozen --target= --profile= --message-format= --check --no-deps --keep-going --fix --allow-dirty --open
medium! cargo run|r -p= --package= --release -r --bin= --example= --features= -q --quiet
low  cargo tree|metadata|version|pkgid|locate-project -e= -i= -d --depth= --duplicates --format-version= --no-deps --offline
medium pytest|py.test -v -vv -vvv -q -qq -x -s -l -k= -m= -n= -r= --lf --ff --sw --maxfail= --tb= --cov? --cov-report= --durations= --collect-only --co --no-header --no-summary --verbose --quiet --exitfirst --last-failed --failed-first --disable-warnings --color= --timeout= --strict-markers --showlocals -rA -ra -rs -rx -rf -rP --reruns= --no-cov --cov-fail-under= --co -svv -xvs
medium python|python3 -m pytest|-m unittest|-m mypy|-m black|-m ruff|-m flake8|-m isort|-m compileall -v -vv -q -x -s -k= -m= --tb= --lf --maxfail= --check --strict -f -b -c
medium make|gmake -j? -j= -k -n -B -s -C= --jobs? --keep-going --dry-run --silent --always-make --no-print-directory --directory= -q --question @plain
medium ninja -j= -C= -v -n @plain
medium cmake --build= -j? --parallel? --target= --config= -v @none
medium cmake -S= -B= -G= @none
medium ctest --output-on-failure -R= -j= -V -N --test-dir= -E= @none
medium mvn|gradle test|compile|package|verify|validate|build|check|clean|assemble|tasks|dependencies -q -B -o -U -e --quiet --batch-mode --offline --info --stacktrace --no-daemon --parallel --tests= @plain
group mvn|gradle -q -B -o --quiet --batch-mode --offline
medium dotnet build|test|format -c= --configuration= --no-restore --no-build -v= --nologo --filter=
medium tsc --noEmit -p= -b -w --build --watch --project= --pretty --strict --skipLibCheck --incremental
medium eslint --fix --ext= --max-warnings= --quiet --cache --fix-dry-run --format= -f=
write prettier --check --write -c -w -l --list-different --log-level=
medium jest|vitest|mocha -t= -i -u --coverage --ci --runInBand --watch --watchAll --testNamePattern= --verbose --updateSnapshot --bail --run --silent --grep= -g= --maxWorkers= --findRelatedTests --passWithNoTests --recursive --timeout=
write black|isort|autopep8|yapf|rustfmt|shfmt --check --diff -l= -q --quiet -w -d -i= --line-length= --check-only --edition= --in-place
medium mypy|flake8|pylint|pyright|shellcheck|hadolint|yamllint|markdownlint|actionlint --strict --ignore-missing-imports -p= -x -s= -e= --severity= --max-line-length= --disable= --show-error-codes
medium ruff check|format --fix --diff --check --select= --ignore= --watch --quiet
medium rspec|rubocop -f= --format= -a -A --fail-fast --only= -e=
medium tox|nox -e= -s= -q -v -r @plain
medium swift build|test -c= --filter= -v
medium deno check|lint|fmt|test --check --watch --no-check
medium cargo-nextest|gotestsum

low  docker ps|images|container ls|image ls|volume ls|network ls|version|info|top|stats|port|history|compose ps|compose ls|compose images -a -q -s -n= --all --quiet --no-trunc --format= --filter= -f= --no-stream --latest -l
low  docker logs|compose logs -f -n= -t --tail= --since= --until= --follow --timestamps --details

write mkdir|touch|cp|mv|ln|tee|gzip|gunzip|xz|unxz|bzip2|bunzip2|zstd|mktemp *
write install -d -m= -D -v -C -p
write patch -p= -i= -R -N -s -E -b -l -t -d> --dry-run --forward --reverse --strip= --input= --quiet
write unzip -l -q -o -n -d> -t -v -j
write zip -r -q -# -j -u -m -9
write split -l= -b= -n= -d -a= --lines= --bytes= --numeric-suffixes?
write cpio -i -d -t -v -u -m
low  unzip -l -t -v
high rm|rmdir|unlink|shred|truncate|kill|pkill|killall|chown|chgrp|mount|umount|passwd|useradd|userdel|usermod|shutdown|reboot|halt|poweroff *
low  umask|ulimit|times @none

low! timeout -k= -s= -v --signal= --kill-after= --preserve-status --foreground --verbose @rest
low! nice -n= -# --adjustment= @rest
low! ionice -c= -n= -t @rest
low! nohup|builtin @rest
low! time -p -v -f= --format= @rest
low! stdbuf -i= -o= -e= @rest
low! xargs -0 -n= -P= -I= -L= -r -t -d= -a= -s= -i -x --null --max-args= --max-procs= --no-run-if-empty --verbose --delimiter= @rest
low! env -u= -C= --unset= --chdir= -i --ignore-environment @rest
`

// fetchers are commands of RiskLow that do more than read: they may fetch what is
// missing, open a pager, ask a daemon or start a project's tool.
var fetchers = Names(`go npm pnpm yarn bun npx cargo docker gradle mvn dotnet poetry uv pytest make tsc gh kubectl terraform helm
	less more bat top clear tput deno pip pip3 psql`)

// known is one line of the table for one command.
type known struct {
	risk     Risk
	write    bool // operands are files that are written
	carrier  bool // its words may name a program
	any      bool
	operands string // "", none, one, plain, ...
	options  map[string]byte
}

// knownLines is knownTable as it is looked up.
var knownLines = sync.OnceValues(func() (commands map[string][]known, groups map[string]known) {
	return readKnown(knownTable)
})

func readKnown(table string) (commands map[string][]known, groups map[string]known) {
	commands, groups = map[string][]known{}, map[string]known{}
	for _, line := range strings.Split(table, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		class, carrier := strings.CutSuffix(fields[0], "!")
		k := known{carrier: carrier, options: map[string]byte{}}
		switch class {
		case "write":
			k.risk, k.write = RiskMedium, true
		case "group":
		default:
			k.risk = Risk(class)
		}
		rest := fields[1:]
		// The words of the command: alternatives may contain a blank behind the first word, as in
		// "git stash list|stash show", so a field without an option's mark belongs to the name.
		var name []string
		for len(rest) > 0 && !isTableOption(rest[0], len(name)) {
			name, rest = append(name, rest[0]), rest[1:]
		}
		paths := commandPaths(name)
		for _, o := range rest {
			switch {
			case o == "*":
				k.any = true
			case o[0] == '@':
				k.operands = o[1:]
			case strings.ContainsRune("=?>:", rune(o[len(o)-1])):
				k.options[o[:len(o)-1]] = o[len(o)-1]
			default:
				k.options[o] = ' '
			}
		}
		for _, p := range paths {
			if class == "group" {
				groups[p] = k
				continue
			}
			commands[p] = append(commands[p], k)
		}
	}
	return commands, groups
}

// isTableOption distinguishes an option of a table line from a word of the command; "-m pytest|-m
// mypy" are words of a command.
func isTableOption(field string, words int) bool {
	if field == "-m" && words == 1 {
		return false
	}
	return field == "*" || field[0] == '@' || field[0] == '-'
}

// commandPaths spells out "a|b c|d e" as a c, a "d e", b c, b "d e".
func commandPaths(fields []string) []string {
	heads := strings.Split(fields[0], "|")
	if len(fields) == 1 {
		return heads
	}
	var paths []string
	for _, head := range heads {
		for _, sub := range strings.Split(strings.Join(fields[1:], " "), "|") {
			paths = append(paths, head+" "+sub)
		}
	}
	return paths
}

// Fit is what the table says of one command.
type Fit struct {
	Risk     Risk
	Write    bool
	Carrier  bool
	Any      bool // every option is read: a name that becomes one changes nothing
	Operands []Word
	Outs     []Word // files that options write
	Paths    []Word // all that may be paths; nil: every word
	Inner    int    // where the command of a wrapper begins
}

// LookUp finds a command in the table: its longest name with a line that lists
// all its options.
func LookUp(c []Word) (Fit, bool) {
	if len(c) == 0 || c[0].Sure == Unknown || strings.Contains(c[0].Text, " ") {
		return Fit{}, false
	}
	name := c[0].Text
	if systemPath(name) {
		name = BaseName(name)
	}
	if own, special := specialCommands[name]; special {
		return own(c)
	}
	at := 1
	commands, groups := knownLines()
	if g, ok := groups[name]; ok {
		at = g.skip(c)
	}
	names := []string{name}
	for i := at; i < min(at+2, len(c)) && c[i].Sure != Unknown; i++ {
		names = append(names, names[len(names)-1]+" "+c[i].Text)
	}
	for n, name := range slices.Backward(names) { // the longest name first
		from := at + n
		if n == 0 {
			from = 1
		}
		lines := commands[name]
		for _, k := range lines {
			if f, ok := k.fits(c, from); ok {
				return f, true
			}
		}
		if len(lines) > 0 {
			return Fit{}, false
		}
	}
	return Fit{}, false
}

// skip returns the index behind a group's options.
func (k known) skip(c []Word) int {
	i := 1
	for i < len(c) && c[i].Sure != Unknown && len(c[i].Text) > 1 && c[i].Text[0] == '-' {
		n, _, ok := k.option(c, i)
		if !ok {
			break
		}
		i += n
	}
	return i
}

// fits checks the words from an index against one line.
func (k known) fits(c []Word, from int) (Fit, bool) {
	f := Fit{Risk: k.risk, Write: k.write, Carrier: k.carrier, Any: k.any}
	for i := from; i < len(c); i++ {
		w := c[i]
		switch {
		case w.Sure == Unknown && !w.Pattern:
			if !k.any {
				return Fit{}, false
			}
			f.Operands = append(f.Operands, w)
		case w.Text == "--" && !k.any:
			f.Operands = append(f.Operands, c[i+1:]...)
			i = len(c)
			if k.operands == "script" || k.operands == "noforce" || slices.ContainsFunc(f.Operands, func(w Word) bool { return w.Sure == Unknown && !w.Pattern }) {
				return Fit{}, false
			}
		case k.any && (w.Text == "" || w.Text[0] != '-'):
			f.Operands = append(f.Operands, w)
		case k.any:
			if _, value, ok := strings.Cut(w.Text, "="); ok && k.write {
				f.Operands = append(f.Operands, Word{Text: value, Sure: w.Sure, Pattern: w.Pattern})
			} else if at := strings.IndexByte(w.Text, '/'); at > 0 && k.write { // -t/etc
				f.Operands = append(f.Operands, Word{Text: w.Text[at:], Sure: w.Sure, Pattern: w.Pattern})
			}
		case len(w.Text) > 1 && w.Text[0] == '-':
			n, kind, ok := k.option(c, i)
			if !ok {
				return Fit{}, false
			}
			switch {
			case kind == '>' && n == 2:
				f.Outs = append(f.Outs, c[i+1])
			case kind == '>':
				f.Outs = append(f.Outs, Word{Text: attached(w.Text), Sure: w.Sure})
			}
			i += n - 1
		case k.operands == "rest":
			f.Inner = k.command(c, i)
			if _, ok := LiteralWords(c[i:min(f.Inner, len(c))]); !ok {
				return Fit{}, false // one may be several
			}
			return f, f.Inner < len(c)
		default:
			f.Operands = append(f.Operands, w)
		}
	}
	return f, k.operandsFit(f.Operands, len(c)-from, Spells(c, "-l", "--list", "-S", "--staged"))
}

// command returns the index at which a wrapper's command begins: behind the time of timeout and the
// variables of env.
func (k known) command(c []Word, i int) int {
	switch BaseName(c[0].Text) {
	case "timeout":
		i++
	case "env":
		for i < len(c) && isAssignment(c[i].Text) {
			i++
		}
	}
	return i
}

// attached is the value within an option's word: -ofile, --output=file.
func attached(option string) string {
	if _, value, ok := strings.Cut(option, "="); ok {
		return value
	}
	if len(option) > 2 {
		return option[2:]
	}
	return ""
}

// option reads the option at an index: how many words it takes and its kind.
func (k known) option(c []Word, i int) (n int, kind byte, ok bool) {
	text := c[i].Text
	name, _, joined := strings.Cut(text, "=")
	if strings.HasPrefix(name, "--") && k.options[name] == 0 && len(name) > 3 && k.options[name[1:]] != 0 && len(name[1:]) > 2 {
		name = name[1:] // go reads --run as -run
	}
	kind, has := k.options[name]
	switch {
	case has && joined:
		return 1, kind, kind != ' '
	case has && (kind == ' ' || kind == '?'):
		return 1, kind, true
	case has:
		return k.valueNext(c, i, kind)
	case text[1] == '-' || c[i].Sure == Unknown:
		return 0, 0, false
	}
	if _, numbers := k.options["-#"]; numbers && strings.Trim(text[1:], "0123456789") == "" {
		return 1, ' ', true
	}
	if name := BaseName(c[0].Text); name == "xxd" || name == "tree" {
		return 0, 0, false // they read letters together in ways of their own
	}
	for at := 1; at < len(text); at++ { // letters together, the last may have a value
		kind, has := k.options["-"+text[at:at+1]]
		switch {
		case !has:
			return 0, 0, false
		case kind == ' ':
		case kind == '?' || at+1 < len(text):
			return 1, kind, true
		default:
			return k.valueNext(c, i, kind)
		}
	}
	return 1, ' ', true
}

func (k known) valueNext(c []Word, i int, kind byte) (int, byte, bool) {
	if i+1 >= len(c) || c[i+1].Sure == Unknown && kind != ':' {
		return 0, 0, false
	}
	return 2, kind, true
}

// operandsFit checks a line's condition on operands.
func (k known) operandsFit(ops []Word, words int, listed bool) bool {
	switch k.operands {
	case "none":
		return len(ops) == 0
	case "one":
		return len(ops) == 0 || len(ops) == 1 && ops[0].Sure == Literal
	case "script":
		return len(ops) <= 1 && allPlain(ops) && !slices.ContainsFunc(ops, func(w Word) bool { return w.Text == "env" })
	case "plain":
		return allPlain(ops)
	case "literal":
		return !slices.ContainsFunc(ops, func(w Word) bool { return w.Sure != Literal })
	case "noforce":
		return !slices.ContainsFunc(ops, func(w Word) bool { return w.Text == "." || w.Sure != Literal })
	case "config":
		return !slices.ContainsFunc(ops, func(w Word) bool { return credentialKey(w.Text) }) && len(ops) == 1
	case "version":
		return len(ops) == 0 && words == 1
	case "listed", "staged":
		return listed
	case "noenv": // npm run env prints the environment
		return !slices.ContainsFunc(ops, func(w Word) bool { return w.Text == "env" })
	case "noplus": // less +!command
		return !slices.ContainsFunc(ops, func(w Word) bool { return strings.HasPrefix(w.Text, "+") })
	case "rest":
		return false // no command follows
	case "ps":
		return len(ops) == 0 || len(ops) == 1 && strings.Trim(ops[0].Text, "auxwf") == ""
	}
	return true
}

func allPlain(ops []Word) bool {
	return !slices.ContainsFunc(ops, func(w Word) bool {
		return w.Sure != Literal || w.Text == "" || strings.IndexFunc(w.Text, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/", r))
		}) >= 0
	})
}
