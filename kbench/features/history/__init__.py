"""`history`: lines over releases and dates, and their steps; `releases`: measures what a line lacks."""
