package Rly;
# Shared by the tests of the command line: running rly, files, tensors.
#
# rly is started without a shell in between, so that no argument needs quoting
# and a signal goes to rly itself.  Its output goes to files: a pipe that nobody
# reads would stop a program that prints much, and the test with it.  Tensors
# are packed and unpacked here, by a few lines of Perl that follow the format,
# so that what rly writes is read by something that is not rly.
use strict;
use warnings;
use Exporter qw(import);
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More;

our @EXPORT = qw(rly rly_start rly_wait patiently gives slurp spew scratch
                 tensors safetensors json near is_release sample one_in
                 without_notes may_preload preloaded);

my $rly = $ENV{RLY} or die "RLY is not set: these tests run by `make test`\n";
my $dir = tempdir(CLEANUP => 1);

# A path in a directory of the test's own.
sub scratch { return "$dir/$_[0]" }

sub slurp {
  my ($path) = @_;
  open my $in, '<:raw', $path or die "$path: $!\n";
  local $/;
  return <$in> // '';
}

sub spew {
  my ($path, @text) = @_;
  open my $out, '>:raw', $path or die "$path: $!\n";
  print $out @text;
  close $out or die "$path: $!\n";
  return $path;
}

# Of many programs, which take long because each is a process or more: every
# fourth in the release build, every 32nd in the others, which are slower and
# look for other faults than a wrong answer.  `make sweep` takes all.
sub is_release { return ($ENV{MODE} // 'release') eq 'release' }
sub sample { return one_in(4, 0, @_) }

# Every n-th from `first` on; in builds that are slow every 8n-th.
sub one_in {
  my ($n, $first, @all) = @_;
  return @all if $ENV{SWEEP};
  $n *= 8 if !is_release();
  return @all[grep { ($_ - $first) % $n == 0 } 0 .. $#all];
}

# A library that comes before the system's, for LD_PRELOAD.  That of a sanitizer
# has to come first.
sub may_preload { return ($ENV{MODE} // '') !~ /asan|tsan/ }

sub preloaded {
  my ($name, $text) = @_;
  my $source = spew(scratch("$name.c"), $text);
  my $library = scratch("$name.so");
  system('cc', '-w', '-shared', '-fPIC', '-o', $library, $source) == 0 or die;
  return $library;
}

# --- Running ----------------------------------------------------------------

# The address sanitizer notes where each block was allocated, and looks for leaks
# when the program ends; both together take half the time of a short program.  So
# it does them in every eighth run, and in every run of `make sweep`.  The variable
# is left as it is outside these tests, where a run can be repeated with both.
my $runs = 0;
my $whole = $ENV{ASAN_OPTIONS};
$ENV{ASAN_OPTIONS} .= ':detect_leaks=0:malloc_context_size=0'
    if defined $whole && !$ENV{SWEEP};

sub redirect {
  my ($handle, $mode, $path) = @_;
  open $handle, $mode, $path or die "$path: $!\n";
}

# Starts rly with these arguments; a hash before them may say where stdin comes
# from (`in`, a text; `in_file`, a path) and where stdout goes (`out`, a path;
# `to`, a handle), or what starts it (`by`, a command).
sub rly_start {
  my %how = ref $_[0] ? %{+shift} : ();
  my @args = @_;
  my $in = $how{in_file} // spew(scratch('stdin'), $how{in} // '');
  local $ENV{ASAN_OPTIONS} = $whole if defined $whole && $runs++ % 8 == 0;
  my $pid = fork // die "fork: $!\n";
  return $pid if $pid;
  redirect(*STDIN, '<', $in);
  if ($how{to}) { redirect(*STDOUT, '>&', $how{to}) }
  else { redirect(*STDOUT, '>', $how{out} // scratch('stdout')) }
  redirect(*STDERR, '>', scratch('stderr'));
  $SIG{PIPE} = $SIG{INT} = 'DEFAULT';
  my @command = (@{$how{by} // []}, $rly, @args);
  exec {$command[0]} @command or die "$command[0]: $!\n";
}

# Without the note that the address sanitizer makes of the first change to
# another stack (base/split.h), of which it is told.
sub without_notes {
  my ($text) = @_;
  return $text =~ s/^==\d+==WARNING: ASan doesn't fully support make.*\n//mr;
}

# What became of it: its status as a shell gives it, stdout and stderr.
sub rly_wait {
  my ($pid) = @_;
  waitpid $pid, 0;
  my $status = $? & 127 ? 128 + ($? & 127) : $? >> 8;
  my $out = -e scratch('stdout') ? slurp(scratch('stdout')) : '';
  my $err = without_notes(slurp(scratch('stderr')));
  return {status => $status, out => $out, err => $err};
}

sub rly {
  unlink scratch('stdout');
  return rly_wait(rly_start(@_));
}

# A run under a limit of time.  On a busy machine a short limit may be reached
# before the program is where it is meant to be ended, so `ran`, which is given
# the seconds, is called with longer limits until `fits` is true of the run.
sub patiently {
  my ($ran, $fits) = @_;
  my $run;
  for my $seconds (0.2, 2, 20) {
    $run = $ran->($seconds);
    last if $fits->($run);
  }
  return $run;
}

# Checks a run: its status, what its stdout is, what its stderr matches ('':
# that it is empty).
sub gives {
  my ($run, $status, $out, $err, $name) = @_;
  my $err_fits = ref $err ? $run->{err} =~ $err : $run->{err} eq $err;
  my $out_fits = ref $out ? $run->{out} =~ $out : $run->{out} eq $out;
  ok($run->{status} == $status && $out_fits && $err_fits, $name)
    or diag("status $run->{status}, not $status\n",
            "stdout: $run->{out}\nstderr: $run->{err}");
}

# --- Values -----------------------------------------------------------------

sub json { return JSON::PP->new->allow_nonref->decode($_[0]) }

my %pack = (F32 => 'f<*', F64 => 'd<*', I32 => 'l<*', I64 => 'q<*',
            U8 => 'C*', BOOL => 'C*');

# The tensors of a safetensors file: name => {dtype, shape, data}; and under
# __metadata__ its texts.
sub tensors {
  my ($path) = @_;
  my $bytes = slurp($path);
  my $len = unpack 'Q<', $bytes;
  my $header = json(substr $bytes, 8, $len);
  for my $t (grep { $_->{data_offsets} } values %$header) {
    my ($from, $to) = @{$t->{data_offsets}};
    my $data = substr $bytes, 8 + $len + $from, $to - $from;
    $t->{data} = [unpack $pack{$t->{dtype}}, $data];
  }
  return $header;
}

# The bytes of a safetensors file of rows [name, dtype, shape, data].
sub safetensors {
  my (%header, $data);
  $data = '';
  for my $row (@_) {
    my ($name, $dtype, $shape, $values) = @$row;
    my $from = length $data;
    $data .= pack $pack{$dtype}, @$values;
    $header{$name} = {dtype => $dtype, shape => $shape,
                      data_offsets => [$from, length $data]};
  }
  my $text = JSON::PP->new->canonical->encode(\%header);
  return pack('Q<', length $text) . $text . $data;
}

# Are two lists of numbers equal but for `tolerance`?
sub near {
  my ($found, $expected, $tolerance, $name) = @_;
  my @far = grep {
    !(abs($found->[$_] - $expected->[$_]) <= $tolerance)
  } 0 .. ($#$found < $#$expected ? $#$found : $#$expected);
  ok(@$found == @$expected && !@far, $name)
    or diag(@far ? "element $far[0]: $found->[$far[0]], "
                   . "not $expected->[$far[0]]"
                 : @$found . ' elements, not ' . @$expected);
}

1;
