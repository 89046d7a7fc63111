package Browser;
# A page in Debian's chromium, without a window, as a user meets it: keys,
# clicks, two widths.
#
#   my $page = Browser->open('file:///tmp/out.html', 1200, 800);
#   is($page->js('document.title'), 'out');
#   $page->key('ArrowRight');
#
# The browser is told what to do by its debugging protocol over a pipe: JSON
# messages with a NUL after each, its file descriptor 3 to it and 4 from it.
use strict;
use warnings;
use File::Temp qw(tempdir tempfile);
use JSON::PP ();
use MIME::Base64 ();
use POSIX ();

my $json = JSON::PP->new->utf8->allow_nonref;
my $program = '/usr/bin/chromium';
my ($open, $pid); # the page and its browser, until it quits
my $owner = $$;

sub installed { return -x $program }

# A page of its own, or nothing and why not. A browser asks much of a machine
# (address space, /proc, a sandbox): one that is there may still not start, which
# is no fault of a page's.
sub try {
  my ($class, @how) = @_;
  my ($err, $said) = tempfile(UNLINK => 1);
  local $SIG{PIPE} = 'IGNORE';
  my $page = eval { $class->open(@how, $said) };
  return ($page, '') if $page;
  my $why = $@;
  my ($last) = reverse grep { /\S/ } <$err>;
  chomp($why, $last //= '');
  return (undef, $last eq '' ? $why : "$why ($last)");
}

# The site of `make web`, served on this machine: a page of its own and the
# address, or nothing and why not.
my ($server, $said);

sub visit {
  my ($class, $wide, $high) = @_;
  my $site = 'build/web';
  return (undef, "no $site: make deps-web web") unless -e "$site/rly.wasm";
  return (undef, 'no chromium: make deps-browser') unless installed();
  my ($page, $why) = $class->try('about:blank', $wide, $high);
  return (undef, "chromium does not start here: $why") if !$page;
  $server = CORE::open($said, '-|', $ENV{RLY}, 'serve-docs', $site)
    or die "$ENV{RLY}: $!\n";
  my ($url) = <$said> =~ m{^(http://[\d.:]+/)} or die "rly serves nothing\n";
  return ($page, $url);
}

# How many of what a page has asked for came from elsewhere than an address.
sub elsewhere {
  my ($self, $url) = @_;
  return $self->js('performance.getEntriesByType("resource").filter(r =>'
                   . " !r.name.startsWith('$url')).length");
}

# A user of number 0 gets no sandbox from chromium.
sub start {
  my ($folder, $said) = @_;
  my ($down_read, $down_write, $up_read, $up_write);
  pipe $down_read, $down_write or die "pipe: $!\n";
  pipe $up_read, $up_write or die "pipe: $!\n";
  $pid = fork // die "fork: $!\n";
  if (!$pid) {
    # Copies above 9 first: 3 and 4 may be ends of these pipes.
    my ($in, $out) = (POSIX::dup2(fileno $down_read, 10),
                      POSIX::dup2(fileno $up_write, 11));
    POSIX::dup2($in, 3);
    POSIX::dup2($out, 4);
    CORE::open(STDERR, '>', $said);
    exec($program, '--headless', '--disable-gpu', '--remote-debugging-pipe',
         "--user-data-dir=$folder", $> ? () : '--no-sandbox', 'about:blank')
      or POSIX::_exit(127);
  }
  CORE::close($_) for $down_read, $up_write;
  $down_write->autoflush;
  return ($down_write, $up_read);
}

sub open {
  my ($class, $url, $wide, $high, $said) = @_;
  my ($to, $from) = start(tempdir(CLEANUP => 1), $said // '/dev/null');
  my $self = $open = bless {to => $to, from => $from, id => 0}, $class;
  my $target = $self->call('Target.createTarget', {url => 'about:blank'});
  my $session = $self->call('Target.attachToTarget',
      {targetId => $target->{targetId}, flatten => JSON::PP::true});
  $self->{session} = $session->{sessionId};
  $self->call($_) for qw(Page.enable Runtime.enable Log.enable);
  $self->width($wide, $high);
  $self->load($url);
  return $self;
}

# Sends a request and waits for its answer; what happens meanwhile is kept.
sub call {
  my ($self, $method, $params) = @_;
  my $id = ++$self->{id};
  my %request = (id => $id, method => $method, params => $params // {});
  $request{sessionId} = $self->{session} if $self->{session};
  print {$self->{to}} $json->encode(\%request), "\0";
  while (my $answer = $self->message) {
    next if ($answer->{id} // 0) != $id;
    die "$method: $answer->{error}{message}\n" if $answer->{error};
    return $answer->{result};
  }
  die "$method: the browser is gone\n";
}

sub message {
  my ($self) = @_;
  local $/ = "\0";
  defined(my $text = readline $self->{from}) or return;
  chop $text;
  my $message = $json->decode($text);
  push @{$self->{events}}, $message->{method} if $message->{method};
  push @{$self->{complaints}}, complaint($message);
  return $message;
}

# What the console says in red: errors of scripts, of loading, and the page's
# own.
sub complaint {
  my ($message) = @_;
  my ($what, $p) = ($message->{method} // '', $message->{params});
  return $p->{exceptionDetails}{exception}{description}
    // $p->{exceptionDetails}{text} if $what eq 'Runtime.exceptionThrown';
  return "$p->{entry}{text} $p->{entry}{url}"
    if $what eq 'Log.entryAdded' && $p->{entry}{level} eq 'error';
  return join ' ', map { $_->{value} // $_->{description} // '' } @{$p->{args}}
    if $what eq 'Runtime.consoleAPICalled' && $p->{type} eq 'error';
  return;
}

sub complaints { return @{$_[0]{complaints} // []} }

# Until the page and its scripts are there.
sub load {
  my ($self, $url) = @_;
  $self->{events} = [];
  $self->call('Page.navigate', {url => $url});
  while (!grep { $_ eq 'Page.loadEventFired' } @{$self->{events}}) {
    $self->message or die "$url: the browser is gone\n";
  }
  return;
}

sub width {
  my ($self, $wide, $high) = @_;
  $self->call('Emulation.setDeviceMetricsOverride',
              {width => $wide, height => $high, deviceScaleFactor => 1,
               mobile => JSON::PP::false});
  return;
}

# The value of an expression.
sub js {
  my ($self, $text) = @_;
  my $got = $self->call('Runtime.evaluate',
                        {expression => $text, returnByValue => JSON::PP::true});
  die "$text: $got->{exceptionDetails}{exception}{description}\n"
    if $got->{exceptionDetails};
  return $got->{result}{value};
}

# The ids of the articles that a page of steps shows.
sub shown {
  my ($self) = @_;
  return $self->js('[...document.querySelectorAll("article")]'
    . '.filter(a => !a.hidden).map(a => a.id).join(" ")');
}

# What the page says and is given, for a message.
sub state_of {
  my ($self) = @_;
  local $SIG{ALRM} = sub { die "nothing, for it does not answer\n" };
  alarm 5;
  my $state = eval {
    $self->js('JSON.stringify([document.documentElement.dataset,'
              . ' document.activeElement?.outerHTML.slice(0, 200),'
              . ' document.body?.innerText.slice(0, 1000)])') } // $@;
  alarm 0;
  return join "\n", $state, $self->complaints;
}

# Until an expression is true.
sub wait_for {
  my ($self, $text) = @_;
  my $seen = eval {
    local $SIG{ALRM} = sub { die "in vain\n" };
    alarm 60;
    1 until $self->js("!!($text)");
    alarm 0;
    1;
  };
  return if $seen;
  alarm 0;
  die $@ if $@ ne "in vain\n";
  die "waited in vain for $text; the page has\n", $self->state_of, "\n";
}

# Until what `$do` asks for is done: a page of `make web`, or an editor in the
# book, counts up a number for each kind of answer, such as `run`.  A run may be
# over before the check of the same text, which is waited for first.
sub count {
  my ($self, $what, $where) = @_;
  $where //= 'html';
  return $self->js("+document.querySelector('$where').dataset.$what || 0");
}
sub after {
  my ($self, $what, $do, $where) = @_;
  $where //= 'html';
  $self->wait_for("(({checked, run}) => !(+checked < +run))"
                  . "(document.querySelector('$where').dataset)");
  my $was = $self->count($what, $where);
  $do->();
  return $self->wait_for(
    "+document.querySelector('$where').dataset.$what > $was");
}

# Writes a text into an editor, in the place of what it holds.
sub write_text {
  my ($self, $text, $where) = @_;
  $where //= 'html';
  $self->js("document.querySelector('$where .cm-content').focus();"
            . ' document.execCommand("selectAll")');
  return $self->type($text);
}

# Presses a key, while `ctrl` or `alt` may be held.  A browser does what a key
# means by its number, or by the character that it enters.
my %number = (Tab => 9, Enter => 13, Escape => 27, ' ' => 32);

sub key {
  my ($self, $key, $held) = @_;
  my $code = $number{$key} // ($held ? ord uc $key : 0);
  my $modifiers = {alt => 1, ctrl => 2}->{$held // ''} // 0;
  my @enters = $key eq 'Enter' ? (text => "\r") : ();
  $self->call('Input.dispatchKeyEvent',
              {type => $_, key => $key, code => $key, modifiers => $modifiers,
               windowsVirtualKeyCode => $code, @enters})
    for @enters ? 'keyDown' : 'rawKeyDown', 'keyUp';
  return;
}

# Types a text where the cursor is.
sub type {
  my ($self, $text) = @_;
  $self->call('Input.insertText', {text => $text});
  return;
}

# Moves the mouse to a place.
sub point {
  my ($self, $x, $y) = @_;
  $self->call('Input.dispatchMouseEvent',
              {type => 'mouseMoved', x => $x, y => $y});
  return;
}

# Clicks the middle of what a selector finds.
sub click {
  my ($self, $selector) = @_;
  my $at = $self->js("(() => { const e = document.querySelector('$selector');"
    . ' e.scrollIntoView({block: "center"});'
    . ' const b = e.getBoundingClientRect();'
    . ' return [b.x + b.width / 2, b.y + b.height / 2] })()');
  $self->call('Input.dispatchMouseEvent',
              {type => $_, x => $at->[0], y => $at->[1], button => 'left',
               clickCount => 1}) for qw(mousePressed mouseReleased);
  return;
}

# What axe-core (`make deps-web`) finds wrong with the page as it stands, for who
# reads it by ear, by keys or with weak eyes: a line for each, with its place.
my $axe = 'build/deps/npm/node_modules/axe-core/axe.min.js';

sub has_axe { return -e $axe }

sub unfit {
  my ($self) = @_;
  CORE::open(my $in, '<:raw', $axe) or die "$axe: $!\n";
  my $text = do { local $/; <$in> };
  utf8::decode($text);
  $self->js("$text; undefined") unless $self->js('!!window.axe');
  $self->js('window.found = null; axe.run({iframes: false}).then('
            . 'r => window.found = r, e => window.found = {failed: String(e)});'
            . ' undefined');
  $self->wait_for('window.found');
  my $failed = $self->js('window.found.failed');
  die "axe-core: $failed\n" if $failed;
  return @{$self->js('window.found.violations.flatMap(v => v.nodes.map(n =>'
    . ' `${v.impact}: ${v.help}: ${n.target} ${n.failureSummary}`))')};
}

# A picture of what is seen, or of that part which a selector finds, as PNG.
sub shot {
  my ($self, $selector) = @_;
  my $clip = $selector && $self->js("(b => ({x: b.x, y: b.y, width: b.width,"
    . " height: b.height, scale: 1}))(document.querySelector('$selector')"
    . '.getBoundingClientRect())');
  my $got = $self->call('Page.captureScreenshot',
                        {format => 'png', $clip ? (clip => $clip) : ()});
  return MIME::Base64::decode_base64($got->{data});
}

# The same as a file, to be looked at.
sub picture {
  my ($self, $path, $selector) = @_;
  CORE::open(my $out, '>:raw', $path) or die "$path: $!\n";
  print $out $self->shot($selector);
  close $out or die "$path: $!\n";
  return;
}

# Ends the browser and the server, and waits for both.  A browser that does not
# answer is killed.
sub quit {
  my ($self) = @_;
  if ($server) {
    kill 'KILL', $server;
    close $said;
  }
  local $SIG{ALRM} = sub { kill 'KILL', $pid };
  alarm 60;
  eval { $self->call('Browser.close') };
  waitpid $pid, 0;
  alarm 0;
  $server = $open = undef;
  return;
}

# A test that dies leaves no browser, which would write to its folder while
# File::Temp removes that, and no server, for which Perl would wait.
END {
  local $?;
  local $SIG{PIPE} = 'IGNORE';
  $open->quit if $open && $owner == $$;
}

1;
