"""What tests share: servers, judges, recorded data."""
