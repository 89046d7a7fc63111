#!/usr/bin/env perl
# `rly serve-docs`: files of a folder, to a browser of this machine. What it
# gives is what the files hold; nothing beside the folder is given, requests
# that make no sense are refused, and a visitor who says nothing keeps no other
# waiting.
use strict;
use warnings;
use lib 'tests/t';
use IO::Socket::INET;
use Rly;
use Test::More;

my $folder = scratch('site');
mkdir $_ or die "$_: $!\n" for $folder, "$folder/book", "$folder/.git";
my $long = join '', map { chr($_ * 7 % 256) } 1 .. 3_000_000;
spew("$folder/book/index.html", "<p>the book\n");
spew("$folder/rly.wasm", $long);
spew("$folder/a b.js", "1\n");
spew("$folder/.git/config", "hidden\n");
spew(scratch('secret'), "secret\n");

symlink '..', "$folder/out" or die "symlink: $!\n";
symlink 'a b.js', "$folder/link.js" or die "symlink: $!\n";

# The process, and the port that it tells.
my $port;
sub serving {
  pipe my $said, my $to or die "pipe: $!\n";
  my $pid = rly_start({to => $to}, 'serve-docs', $folder, @_);
  close $to;
  ($port) = <$said> =~ m{^http://127\.0\.0\.1:(\d+)/book/index\.html$};
  ok($port, "the address is told @_") or BAIL_OUT('no server');
  return $pid;
}
my $pid = serving();

sub connected {
  return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port)
    // die "connect: $!\n";
}

# The answer to a request, whole: its first line, its fields, its body.
sub answer {
  my ($socket, $request) = @_;
  print $socket $request;
  local $/;
  my ($head, $body) = split /\r\n\r\n/, <$socket> // '', 2;
  my ($first, @fields) = split /\r\n/, $head // '';
  return ($first // '', {map { /^(.*?): (.*)$/ } @fields}, $body);
}
sub get {
  my ($path, $host) = @_;
  $host //= "127.0.0.1:$port";
  return answer(connected(), "GET $path HTTP/1.1\r\nHost: $host\r\n\r\n");
}
sub status { return (get(@_))[0] =~ s/^HTTP\S+ //r }

my $silent = connected(); # and says nothing to the end

my ($first, $fields, $body) = get('/book/');
is("$first|$body", "HTTP/1.1 200 OK|<p>the book\n", 'a folder is its index');
is($fields->{'Content-Type'}, 'text/html; charset=utf-8', '... which is HTML');
($first, $fields, $body) = get('/rly.wasm?v=1');
ok($body eq $long, 'a long file comes whole');
is($fields->{'Content-Type'}, 'application/wasm', '... with its type');
is($fields->{'Content-Length'}, length $long, '... and its size');
is((get('/a%20b.js'))[2], "1\n", 'a name is decoded');
($first, $fields, $body) =
  answer(connected(), "HEAD /rly.wasm HTTP/1.1\r\n\r\n");
is("$first|$fields->{'Content-Length'}|$body", "HTTP/1.1 200 OK|3000000|",
   'HEAD gives no body');

is(status('/none'), '404 Not Found', 'a file that is not there');
is(status('/book'), '404 Not Found', 'a folder is no file');
is(status("/$_"), '400 Bad Request', "/$_")
  for '/etc/passwd', '%2fetc/passwd', '../secret', '%2e%2e/secret',
      'book/../../secret', '.git/config', 'a%00b', '%', '%f';
is((answer(connected(), "$_\r\n\r\n"))[0], 'HTTP/1.1 400 Bad Request', $_)
  for 'GET', 'GET book HTTP/1.1', 'get / HTTP/1.1', 'GET / SMTP',
      "GET /\0 HTTP/1.1";
is((answer(connected(), "POST / HTTP/1.1\r\n\r\n"))[0],
   'HTTP/1.1 405 Method Not Allowed', 'POST');
is(status('/book/', $_), '200 OK', "a browser that asks $_")
  for 'localhost', 'LOCALHOST:80', '127.0.0.1 ';
is(status('/book/', $_), '421 Misdirected Request', "... or $_")
  for 'evil.example', "evil.example:$port", 'localhost.evil.example', '127', '';
is((answer(connected(), "GET /book/ HTTP/1.1\r\nA: b\r\nhOST:\tx\r\n\r\n"))[0],
   'HTTP/1.1 421 Misdirected Request', 'a field in other letters');
is((answer(connected(), 'GET /' . 'a' x 8186))[0],
   'HTTP/1.1 431 Request Header Fields Too Large', 'a request without an end');

# In pieces; and one who leaves in the middle.
my $slow = connected();
$slow->autoflush;
print $slow $_ for 'GE', "T /a%20b.js HT", "TP/1.1\r\n", "\r";
is((answer($slow, "\n"))[2], "1\n", 'a request in pieces');
my $gone = connected();
print $gone "GET /rly.wasm HTTP/1.1\r\n\r\n";
read $gone, my $piece, 100;
close $gone;
is((get('/a%20b.js'))[2], "1\n", 'one who leaves early stops nobody');

# More visitors than there are places.
my @many = map { connected() } 1 .. 80;
close $_ for @many;
is((get('/a%20b.js'))[2], "1\n", '... nor do many');
close $silent;
is((get('/out/secret'))[2], "secret\n", 'a link is followed');

kill 'TERM', $pid;
waitpid $pid, 0;

$pid = serving('--safe');
is(status("/$_"), '404 Not Found', "... not with --safe: $_")
  for 'out/secret', 'out/site/rly.wasm', 'link.js';
($first, $fields, $body) = get('/book/');
is("$fields->{'Content-Type'}|$body", "text/html; charset=utf-8|<p>the book\n",
   '... which gives what is there');
kill 'TERM', $pid;
waitpid $pid, 0;

gives(rly('serve-docs', scratch('none')), 1, '', qr/none: No such file/,
      'a folder that is not there');
gives(rly('serve-docs', $folder, '--port', 70_000), 1, '', qr/up to 65535/,
      'a port that is none');
gives(rly('serve-docs', 'a', 'b'), 1, '',
      qr/`b` is a word too many/, 'two folders');
my $taken = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1');
gives(rly('serve-docs', $folder, '--port', $taken->sockport), 1, '',
      qr/cannot listen: Address already in use/, 'a port that is taken');
done_testing();
