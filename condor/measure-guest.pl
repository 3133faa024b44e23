#!/usr/bin/perl
# A guest of the measurement: computes UNITS pieces of 6 ms, and rests for 4 ms after each.
#
#   measure-guest.pl ID UNITS
#
# It saves itself when it is told to go (SIGTERM): the pieces done so far go along in the file `state`. A file that only this node has tells how far
# it came.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID sleep);

my ($id, $units) = @ARGV;
my $mark = "/home/guest/mark-$id.at";
my $done = 0;
if (open my $saved, '<', 'state') { $done = <$saved> || 0 }

sub put {
    my ($path) = @_;
    open my $file, '>', $path or return;
    print $file "$done\n";
    close $file;
}
$SIG{TERM} = sub { put('state'); put($mark); exit 1 };

put('state');
while ($done < $units) {
    my $end = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + 0.006;
    1 while clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $end;
    sleep 0.004;
    put($mark) if ++$done % 20 == 0;
}
put($mark);
